import re

from run import ROOT

PROMISES = re.findall(
    r"^\| (.+?) \| (.+?) \| (`test_.+`) \|$", (ROOT / "docs/explanation/guarantees.md").read_text(), re.MULTILINE
)


def test_a_promise_names_tests() -> None:
    assert len(PROMISES) > 20
    for event, _, tests in PROMISES:
        for name in re.findall(r"`(.+?)`", tests):
            assert re.search(r"^ *def test_", (ROOT / "tests/faults" / name).read_text(), re.MULTILINE), event
