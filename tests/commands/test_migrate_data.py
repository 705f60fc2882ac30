import json
from io import StringIO
from unittest.mock import DEFAULT, Mock

import pytest
from django.core.management import call_command

from config.management.commands import migrate_data
from licensing.content import rekeying
from licensing.content.models import Content
from licensing.visits.models import VisitorDay
from tests import factories

KEYS, VISITS = "Keys of items by their URLs", "Counts of visits in former tables"


@pytest.fixture
def outdated(account, monkeypatch):
    """Five items without keys, two to a transaction, and a visitor that the version before has counted."""
    monkeypatch.setattr(rekeying, "CHUNK", 2)
    monkeypatch.setattr(migrate_data, "SECONDS", -1)
    for number in range(5):
        factories.content(account, source=f"https://pub.example/{number}")
    Content.objects.update(page_key=None)
    counts = {"allowed": 1, "observed": 0, "denied": 0, "last_seen": "2026-03-01T12:00:00Z"}
    visitor = {"requester": factories.requester(account), "identified_by": "nothing"}
    VisitorDay.objects.create(account=account, day="2026-03-01", **visitor, **counts)
    return Content.objects.filter(page_key=None)


def run(**options):
    output, errors = StringIO(), StringIO()
    call_command("migrate_data", stdout=output, stderr=errors, **options)
    return output.getvalue().splitlines(), errors.getvalue().splitlines()


def test_it_shows_what_it_changed_and_a_second_run_changes_nothing(outdated):
    lines, progress = run()
    assert progress == [f"{KEYS}: 2 of 5", f"{KEYS}: 4 of 5", f"{KEYS}: 5 of 5", f"{VISITS}: 1 of 1"]
    assert lines == [f"{KEYS}: changed 5.", f"{VISITS}: changed 1."]
    assert not outdated.exists()
    assert not VisitorDay.objects.exists()
    assert run()[0] == [f"{KEYS}: changed 0.", f"{VISITS}: changed 0."]


def test_an_interrupted_run_keeps_what_it_has_done(outdated, monkeypatch):
    breaks_off = Mock(wraps=rekeying.spread_page_keys, side_effect=[*[DEFAULT] * 2, RuntimeError, *[DEFAULT] * 3])
    monkeypatch.setattr(rekeying, "spread_page_keys", breaks_off)
    with pytest.raises(RuntimeError):
        run()
    assert outdated.count() == 1
    assert run()[0][0] == f"{KEYS}: changed 1."


def test_as_json_it_is_one_object(outdated):
    lines, progress = run(json=True)
    assert progress == []
    changed = {"contentKeys": 5, "edgeUsage": 1}
    assert json.loads(lines[-1]) == {"object": "data_migration", "changed": changed, "contestedPages": []}
