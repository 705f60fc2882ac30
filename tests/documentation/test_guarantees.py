"""Each promise of docs/explanation/guarantees.md names tests that exist."""

import re

import pytest

from run import ROOT

PROMISES = re.findall(
    r"^\| (.+?) \| (.+?) \| (`test_.+`) \|$", (ROOT / "docs/explanation/guarantees.md").read_text(), re.MULTILINE
)


def test_there_are_promises() -> None:
    assert len(PROMISES) > 20


@pytest.mark.parametrize(("event", "tests"), [(event, tests) for event, _, tests in PROMISES])
def test_a_promise_names_tests(event: str, tests: str) -> None:
    for name in re.findall(r"`(.+?)`", tests):
        assert re.search(r"^ *def test_", (ROOT / "tests/faults" / name).read_text(), re.MULTILINE), event
