import re

import pytest

from kit.version import VERSION
from run import ROOT

SECTIONS = re.split(r"^## \[(.+?)\](?: - \d{4}-\d\d-\d\d)?$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[
    1:
]
RELEASES = dict(zip(SECTIONS[::2], SECTIONS[1::2], strict=True))


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_says_first_how_to_upgrade_to_it(release: str):
    assert re.match(r"\n\n### Upgrading\n\n- \S", RELEASES[release])


def test_the_latest_release_is_the_version_of_the_code():
    assert next(name for name in RELEASES if name != "Unreleased") == VERSION
