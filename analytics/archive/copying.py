"""Keep the archive equal to the closed months of decisions."""

import logging
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from uuid import uuid4

import orjson
from django.db import IntegrityError, transaction

from accounts.models import Account
from analytics.archive import store
from analytics.archive.changes import wait_for_changes
from analytics.archive.horizon import stored_horizon
from analytics.archive.layout import COLUMNS, AccountMonth, file_uri
from analytics.archive.models import ArchivedMonth
from analytics.archive.only_copies import (
    check_copied,
    check_only_copies,
    decisions_in_month,
    files_of_only_copies,
    is_deleted,
    is_purged,
    only_copies,
)
from analytics.archive.redaction import redact
from analytics.archive.store import ArchiveError
from analytics.archive.table import Checksum, DecisionTable, Row
from analytics.events.partitions import month_after, month_start
from analytics.events.retention import exclusive_maintenance
from analytics.models import AccessEvent
from kit.private_files import private_umask
from kit.rest.resources import referred_model
from kit.storage.reading import committed_until
from kit.storage.sqlite_turns import turn_to_write

logger = logging.getLogger(__name__)

CLOSED_AFTER = timedelta(hours=1)  # longer than a decision takes from its id to its transaction
READ_ROWS = 2_000  # decisions that are read together
# A group of rows of a file has at most so many, and about so many bytes of facts. Lists keep two groups in memory.
GROUP_ROWS = 20_000
GROUP_BYTES = 16 << 20
MAX_ATTEMPTS = 3
FIELDS = [column.field for column in COLUMNS.values() if column.field is not None]  # `pk` first, `facts` last


def update_archive(now: datetime, *, discard_copies: bool = False) -> tuple[int, int]:
    """Copy the closed months that are missing or have changed, and remove those that were purged.

    Returns the number of months copied and removed. Safe to interrupt at any moment: run it again. `discard_copies`
    discards all copies of what the database has first. Before anything is deleted, the files that only the archive has
    are looked for. Raises ValidationError while a purge or a rebuild is running, and ArchiveError.
    """
    copied = 0
    removed = 0
    now = committed_until(now)
    with private_umask(), exclusive_maintenance(), DecisionTable() as table:
        store.restrict_permissions()
        is_new = discard_copies or table.is_new()  # then the catalogue cannot tell which files are needed
        check_only_copies(count_rows=is_new)
        if is_new:
            check_copied(store.files() - files_of_only_copies())
        if discard_copies:
            ArchivedMonth.objects.exclude(pk__in=only_copies()).delete()
            table.discard(keep=files_of_only_copies())
        table_months = table.months()
        for archived in only_copies():
            account_month = AccountMonth(archived.account_id, archived.month)
            if account_month not in table_months:  # the table is new, such as in another database
                table.replace(archived.account_id, archived.month, archived.uri)
        for account_id, month in sorted(months_to_remove(table_months)):
            table.replace(account_id, month, None)
            ArchivedMonth.objects.filter(account_id=account_id, month=month).delete()
            removed += 1
        for account_id, month in months_to_copy(table_months, now):
            copied += copy_unless_deleted(table, account_id, month)
        for archived in only_copies().filter(is_current=False):
            rewrite(table, archived)
            copied += 1
        table.prune(keep=files_of_only_copies())
    return copied, removed


def months_to_remove(table_months: Iterable[AccountMonth]) -> Iterator[AccountMonth]:
    """Yield the months of deleted accounts, and those that were purged."""
    account_ids = set(Account.objects.values_list("pk", flat=True))
    deleted_by_account = {
        account_id: is_deleted(account_id) for account_id, _ in table_months if account_id not in account_ids
    }
    for account_id, month in table_months:
        if is_purged(month) or deleted_by_account.get(account_id):
            yield AccountMonth(account_id, month)
    for account_id, deleted in deleted_by_account.items():
        if not deleted:
            logger.warning("The archive keeps the decisions of %s, which the database does not know", account_id)


def months_to_copy(table_months: Container[AccountMonth], now: datetime) -> Iterator[AccountMonth]:
    """Yield the closed months of all accounts that have decisions in the database, but no current copy."""
    for account_id in Account.objects.order_by("pk").values_list("pk", flat=True):
        for month in account_months_to_copy(account_id, table_months, now):
            if decisions_in_month(account_id, month).exists():
                yield AccountMonth(account_id, month)


def account_months_to_copy(account_id: str, table_months: Container[AccountMonth], now: datetime) -> Iterator[date]:
    """Yield the closed months, from that of the first decision on, without those that are archived as they are."""
    recorded = AccessEvent.objects.filter(account_id=account_id).order_by("created").values_list("created", flat=True)
    dropped_until = stored_horizon()
    if dropped_until is not None:
        recorded = recorded.filter(created__gte=dropped_until)
    begin = recorded.first()
    if begin is None:
        return
    archived = ArchivedMonth.objects.filter(account_id=account_id, is_current=True, rows__isnull=False)
    copied_months = set(archived.exclude(file="").values_list("month", flat=True))
    month = month_start(begin)
    end = closed_until(now)
    while month < end:
        if month.date() not in copied_months or (account_id, month.date()) not in table_months:
            yield month.date()
        month = month_after(month)


def closed_until(now: datetime) -> datetime:
    """Return the end of the last closed month."""
    return month_start(now - CLOSED_AFTER)


def copy_unless_deleted(table: DecisionTable, account_id: str, month: date) -> bool:
    """Copy a month, and return whether its account still exists. Raises ArchiveError."""
    try:
        copy(table, account_id, month)
    except (ArchiveError, IntegrityError):
        if Account.objects.filter(pk=account_id).exists():
            raise
        return False  # the next run removes what was copied
    return True


def copy(table: DecisionTable, account_id: str, month: date) -> None:
    """Copy a month and verify the copy before the table gets it. Raises ArchiveError."""
    for _ in range(MAX_ATTEMPTS):
        name = uuid4().hex
        path = file_uri(account_id, month, name)
        archived = begin_copy(account_id, month)
        checksum = table.write(path, read_rows(account_id, month))
        verify(table, path, checksum, decisions_in_month(account_id, month).count())
        check_complete(table, account_id, month, checksum.rows)
        table.replace(account_id, month, path)
        unchanged = ArchivedMonth.objects.filter(pk=archived.pk, is_current=True)
        if unchanged.update(rows=checksum.rows, checksum=checksum.sum, file=name):
            logger.info("Archived %d decisions of %s in %s", checksum.rows, account_id, f"{month:%Y-%m}")
            return
    raise ArchiveError(f"The decisions of {account_id} in {month:%Y-%m} change all the time. Try again later.")


def check_complete(table: DecisionTable, account_id: str, month: date, recorded: int) -> None:
    """Raise ArchiveError if the archive has more decisions of the month than the database.

    Decisions are never deleted one by one.
    """
    archived = table.count_rows(account_id, month)
    if archived > recorded:
        raise ArchiveError(
            f"The archive has {archived} decisions of {account_id} in {month:%Y-%m}, the database {recorded}. "
            "Was it restored from an older backup? Nothing was archived."
        )


def rewrite(table: DecisionTable, archived: ArchivedMonth) -> None:
    """Write a month that only the archive has without the data of erased requesters. Raises ArchiveError."""
    account_id = archived.account_id
    month = archived.month
    name = uuid4().hex
    erased = erased_requesters(account_id)
    path = file_uri(account_id, month, name)
    checksum = table.write(path, redact(table.read(archived.uri), erased))
    verify(table, path, checksum, archived.rows or 0)
    table.replace(account_id, month, path)
    with turn_to_write(), transaction.atomic():
        wait_for_changes()
        # An erasure since then is for the next run.
        ArchivedMonth.objects.filter(pk=archived.pk).update(
            rows=checksum.rows,
            checksum=checksum.sum,
            file=name,
            is_current=erased_requesters(account_id) == erased,
        )


def erased_requesters(account_id: str) -> dict[object, str]:
    """Return the pseudonyms of erased requesters by number."""
    requesters = referred_model(AccessEvent, "requester")._default_manager  # the app above has the model
    erased = requesters.filter(account_id=account_id, is_erased=True)
    return dict(erased.values_list("pk", "requester_id"))


def begin_copy(account_id: str, month: date) -> ArchivedMonth:
    with turn_to_write(), transaction.atomic():
        wait_for_changes()
        archived, _ = ArchivedMonth.objects.update_or_create(
            account_id=account_id, month=month, defaults={"is_current": True, "rows": None}
        )
    return archived


def read_rows(account_id: str, month: date) -> Iterator[Sequence[Row]]:
    """Yield the rows of the month's decisions in groups, in the order in which they were made."""
    ordered = decisions_in_month(account_id, month).order_by("created", "pk").values_list(*FIELDS)
    remaining = ordered
    group: list[Row] = []
    size = 0
    while chunk := list(remaining[: min(READ_ROWS, GROUP_ROWS)]):
        for *values, facts in chunk:
            text = orjson.dumps(facts).decode()
            group.append((account_id, month, *values, text))
            size += len(text)
            if len(group) == GROUP_ROWS or size > GROUP_BYTES:
                yield group
                group = []
                size = 0
        last_pk, last_created, *_ = chunk[-1]
        remaining = ordered.filter(created__gte=last_created).exclude(created=last_created, pk__lte=last_pk)
    if group:
        yield group


def verify(table: DecisionTable, path: str, expected: Checksum, recorded: int) -> None:
    """Compare the file with what was written, and with the number of decisions. Raises ArchiveError."""
    actual = table.checksum(path)
    if actual.value != expected.value:
        raise ArchiveError(f"The file {path} differs from what was written to it. Nothing was archived.")
    if actual.rows != recorded:
        raise ArchiveError(f"The file {path} has {actual.rows} decisions of {recorded}. Nothing was archived.")
