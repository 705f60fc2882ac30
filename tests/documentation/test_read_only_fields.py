import re
from collections.abc import Iterator

from django.urls import get_resolver

from kit.rest.serializers import StrictSerializer
from tests.documents import ROOT


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
    section = (
        (ROOT / "docs/reference/api.md").read_text().partition("\n### Read-only fields\n")[2].partition("\n### ")[0]
    )
    assert {"balance", "status", "mergedInto"} < ignored
    assert ignored - set(re.findall(r"`(\w+)`", section)) == set()
