import re
from collections.abc import Iterator

import pytest
from django.urls import get_resolver

from kit.rest.serializers import StrictSerializer
from kit.version import VERSION
from run import ROOT
from tests.source_files import PRODUCT, sources


def subclasses(of: type[StrictSerializer]) -> Iterator[type[StrictSerializer]]:
    for one in of.__subclasses__():
        yield one
        yield from subclasses(one)


def test_every_ignored_field_is_in_the_table():
    assert get_resolver().url_patterns  # imports all serializers
    ignored = set()
    for made in (one() for one in subclasses(StrictSerializer)):
        if made.writable():
            ignored |= {name for name, field in made.fields.items() if field.read_only} | made.owned
    page = (ROOT / "docs/reference/api.md").read_text()
    section = page.partition("\n### Read-only fields\n")[2].partition("\n### ")[0]
    assert {"balance", "status", "mergedInto"} < ignored
    assert ignored - set(re.findall(r"`(\w+)`", section)) == set()


CITATION = re.compile(r"(docs/[\w/-]+\.md)(?:, ([A-Z][^\n]{0,80}))?")


def test_what_the_code_cites_is_a_heading_of_the_documentation():
    missing = []
    for path in sources(*PRODUCT):
        for page, rest in CITATION.findall(re.sub(r"\s*\n\s*(?:# )?", " ", path.read_text())):
            headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(), re.MULTILINE)
            if rest and not any(rest.startswith(heading) for heading in headings):
                missing.append((path.relative_to(ROOT), page, rest))
    assert missing == []


HEADINGS = r"^## \[(.+?)\](?: - \d{4}-\d\d-\d\d)?$"
_, *SECTIONS = re.split(HEADINGS, (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
RELEASES = dict(zip(SECTIONS[::2], SECTIONS[1::2], strict=True))


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_says_first_how_to_upgrade_to_it(release: str):
    """A short story of the release may come before."""
    story, upgrading, _ = re.split(r"^### (.+)$", RELEASES[release], maxsplit=1, flags=re.MULTILINE)
    assert upgrading == "Upgrading"
    assert len(story.splitlines()) < 20


def test_the_latest_release_is_the_version_of_the_code():
    assert next(name for name in RELEASES if name != "Unreleased") == VERSION


PROMISES = re.findall(
    r"^\| (.+?) \| (.+?) \| (`test_.+`) \|$", (ROOT / "docs/explanation/guarantees.md").read_text(), re.MULTILINE
)


def test_a_promise_names_tests() -> None:
    assert len(PROMISES) > 20
    for event, _, tests in PROMISES:
        for name in re.findall(r"`(.+?)`", tests):
            assert re.search(r"^ *def test_", (ROOT / "tests/faults" / name).read_text(), re.MULTILINE), event
