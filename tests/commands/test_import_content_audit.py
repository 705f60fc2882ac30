import pytest

from tests import auditlog
from tests.commands.importing import items, lines

FIRST = {"externalId": "a", "title": "Alpha", "metadata": {"edition": 1}}
SECOND = {"externalId": "b", "title": "Beta"}


@pytest.fixture
def new(account):
    """Return a function that returns the entries since its last call."""
    known = set()

    def entries():
        made = [entry for entry in auditlog.entries(account=account) if entry.pk not in known]
        known.update(entry.pk for entry in made)
        return made

    entries()
    return entries


def test_each_item_created_is_in_the_log_by_the_command(load, new, account):
    load("items.jsonl", lines(FIRST, SECOND))
    made = {entry.resource_id: entry for entry in new()}
    assert set(made) == {item.pk for item in items(account).values()}
    for entry in made.values():
        assert (entry.action, entry.actor_type, entry.actor_id) == ("content.created", "command", "import_content")
    assert made[items(account)["a"].pk].changes["metadata.edition"] == [None, 1]


def test_of_a_second_import_only_what_changed_is(load, new):
    load("items.jsonl", lines(FIRST, SECOND))
    new()
    load("items.jsonl", lines({**FIRST, "metadata": {"edition": True}}, SECOND))
    [entry] = new()
    assert (entry.action, entry.changes) == ("content.updated", {"metadata.edition": [1, True]})


def test_dry_runs_bad_rows_and_unchanged_items_leave_no_entry(load, new):
    load("items.jsonl", lines(FIRST, SECOND), "--dry-run")
    assert new() == []
    load("items.jsonl", lines(FIRST))
    new()
    load("items.jsonl", lines(FIRST, {"externalId": "c", "title": ""}))
    assert new() == []
