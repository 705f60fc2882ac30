"""Move the history of customers that the version before wrote to references (accounts.history).

That version cannot read references. So accounts that it made write none until a process has run for a day: then an
upgrade without stopping is over, and a job moves their history. An erasure before that drops what this history has of
the customer. Will be removed one release later.
"""

from collections.abc import Callable, Sequence
from typing import cast

from django.db.models import QuerySet

from accounts.auditing.redaction import redacting
from accounts.events.models import ABOUT_CUSTOMERS, Event
from accounts.history.people import People, Person
from accounts.history.personal_members import PERSONAL
from accounts.history.rows import HistoryRow, conceal, find_people
from accounts.models import Account, AuditEntry
from analytics.models import Payment, Wallet
from kit.storage.reading import in_chunks
from kit.storage.sqlite_turns import part_of_a_write
from licensing.clients.models import LicenseClient
from licensing.licenses.models import License
from licensing.requesters.models import Requester

CHUNK = 200
COLUMNS = ("customer", "other_customer", "sealed")
POSSESSIONS = {"license": License, "license_client": LicenseClient, "wallet": Wallet, "payment": Payment}


def unsealed_history(account_id: str) -> list[QuerySet[HistoryRow]]:
    entries = AuditEntry._base_manager.filter(resource_type__in=[*PERSONAL, "event"])
    events = Event._base_manager.filter(type__in=ABOUT_CUSTOMERS)
    return [rows.filter(account_id=account_id, sealed=None) for rows in (entries, events)]


def move_history() -> int:
    """Have all accounts write references, and move their history. Returns the number of rows."""
    moved = 0
    for account_id in Account.objects.values_list("pk", flat=True):
        Account.objects.filter(pk=account_id, seals_history=False).update(seals_history=True)
        for rows in unsealed_history(account_id):
            for chunk in in_chunks(rows, CHUNK):
                set_owners(chunk)
                moved += store_references(chunk, find_people)
    return moved


def drop_former_history(people: Sequence[Requester]) -> None:
    """Drop what rows of the version before have of customers that are being erased."""
    account_id = people[0].account_id
    erased = {}
    for person in people:
        for id in former_ids(person):
            erased[account_id, id] = Person(person.pk, account_id, person.requester_id, key=None, seals_history=True)

    def find(rows: Sequence[HistoryRow]) -> People:
        found = {name: person._replace(seals_history=True) for name, person in find_people(rows).items()}
        return found | erased

    ids = {id for _, id in erased}
    possessions: set[str] = set()
    for rows in unsealed_history(account_id):
        for chunk in in_chunks(rows, CHUNK):
            set_owners(chunk)
            store_references([row for row in chunk if is_about_one_of(row, ids, possessions)], find)


def former_ids(person: Requester) -> set[str]:
    """Return the pseudonym, and the id that it replaces."""
    if person.erasing is None:
        return {person.requester_id}
    return {person.requester_id, cast("dict[str, str]", person.erasing)["id"]}


def is_about_one_of(row: HistoryRow, ids: set[str], possessions: set[str]) -> bool:
    """Whether the row names one of the customers, or is about what one had at the time, by the rows before it."""
    if isinstance(row, AuditEntry):
        if row.resource_id in possessions:
            row.owner = next(iter(ids))
        holder = row.changes.get("requesterId", [None, None])[1]
        if holder in ids:
            possessions.add(row.resource_id)
        elif holder is not None:
            possessions.discard(row.resource_id)
    named: set[object] = set()
    row.remainder(named.add)
    return not named.isdisjoint(ids)


def set_owners(rows: Sequence[HistoryRow]) -> None:
    """Note whose the licences and other possessions are that entries are about."""
    for kind, model in POSSESSIONS.items():
        entries = [row for row in rows if isinstance(row, AuditEntry) and row.resource_type == kind]
        possessions = model._base_manager.filter(pk__in={entry.resource_id for entry in entries})
        owners = dict(possessions.values_list("pk", "requester__requester_id"))
        for entry in entries:
            entry.owner = owners.get(entry.resource_id)


def store_references(rows: Sequence[HistoryRow], find: Callable[[Sequence[HistoryRow]], People]) -> int:
    """Store rows with references. Returns how many have changed."""
    with part_of_a_write(), redacting():
        conceal(rows, find)
        changed = [row for row in rows if row.sealed is not None]
        for row in changed:
            columns = {column: getattr(row, column) for column in (*COLUMNS, *row.concealed)}
            type(row)._base_manager.filter(pk=row.pk).update(**columns)
    return len(changed)
