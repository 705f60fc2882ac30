"""Prove that files may be deleted: the database has their decisions, or they are meant to be gone."""

from collections.abc import Collection, Iterable
from datetime import UTC, date, datetime

from django.db.models import QuerySet
from pyarrow import ArrowException, parquet

from accounts.models import Account, AuditEntry
from analytics.archive import store
from analytics.archive.horizon import stored_horizon
from analytics.archive.layout import AccountMonth, archive_uri, data_uri, month_of_file
from analytics.archive.models import ArchivedMonth
from analytics.archive.store import ArchiveError
from analytics.events.partitions import month_after
from analytics.events.retention import horizon
from analytics.models import AccessEvent


def only_copies() -> QuerySet[ArchivedMonth]:
    """Return the months that only the archive has."""
    end = stored_horizon()
    if end is None:
        return ArchivedMonth.objects.none()
    return ArchivedMonth.objects.filter(month__lt=end.date())


def files_of_only_copies() -> set[str]:
    return {archived.uri for archived in only_copies()}


def check_only_copies(*, count_rows: bool) -> None:
    """Raise ArchiveError if a file that nothing can replace is not in its place; `count_rows` also counts its rows."""
    expected = {archived.uri: archived for archived in only_copies()}
    if not expected:
        return
    present = store.files()
    missing = sorted(expected.keys() - present)
    if missing:
        raise ArchiveError(describe_missing(missing, len(expected)))
    if count_rows:
        for uri, archived in expected.items():
            rows = count_rows_in_file(uri)
            if rows != archived.rows:
                count = "no readable" if rows is None else rows
                raise ArchiveError(
                    f"{uri} has {count} decisions of {archived.rows}, and "
                    "nothing else has them. Nothing was deleted. Restore the file from a backup of ARCHIVE_DIR."
                )


def describe_missing(missing: Collection[str], expected: int) -> str:
    """Return a sentence that names the first missing file, and where files of the same name are."""
    first = next(iter(missing))
    many = f" So are {len(missing) - 1} more of {expected} such files." if len(missing) > 1 else ""
    sentence = f"{first} is missing, and nothing else has these decisions.{many} Nothing was deleted."
    names = {file_name(uri) for uri in missing}
    misplaced = sorted(uri for uri in store.files_below(archive_uri()) if file_name(uri) in names)
    if not misplaced:
        return f"{sentence} Restore the files of {data_uri()} from a backup of ARCHIVE_DIR."
    right_uri = next(uri for uri in misplaced if file_name(uri) == file_name(misplaced[0]))
    right = next(uri for uri in missing if file_name(uri) == file_name(right_uri))
    elsewhere = f"{len(misplaced)} of them are" if len(misplaced) > 1 else "It is"
    return (
        f"{sentence} {elsewhere} in another folder: {right_uri} belongs at {right}. Move them there and run it again."
    )


def check_copied(uris: Iterable[str]) -> None:
    """Raise ArchiveError if the database lacks decisions of one of these files. Call it before they are deleted.

    A database that was restored from an older backup does not know the newest files of the archive.
    """
    for uri in sorted(uris):
        account_month = month_of_file(uri)
        if account_month is not None and not is_replaceable(uri, account_month):
            raise ArchiveError(
                f"{uri} has decisions that the database lacks. Nothing was deleted. If the database was restored from "
                "an older backup, this may be their only copy. Move the file out of ARCHIVE_DIR and run it again."
            )


def is_replaceable(uri: str, account_month: AccountMonth) -> bool:
    account_id, month = account_month
    if is_purged(month) or is_deleted(account_id):
        return True
    min_rows = count_rows_in_file(uri) or 1  # it cannot be read if an interrupted run has written a part of it
    other_copy = only_copies().filter(account_id=account_id, month=month).first()
    if other_copy is not None and (other_copy.rows or 0) >= min_rows:
        return True
    return decisions_in_month(account_id, month).count() >= min_rows


def is_purged(month: date) -> bool:
    begin = horizon()
    return begin is not None and month < begin.date()


def is_deleted(account_id: str) -> bool:
    """Return whether the account was deleted by its operator; an account that is only unknown was not."""
    if Account.objects.filter(pk=account_id).exists():
        return False
    return AuditEntry.objects.filter(account_id=account_id, action="account.deleted").exists()


def decisions_in_month(account_id: str, month: date) -> QuerySet[AccessEvent]:
    begin = datetime(month.year, month.month, 1, tzinfo=UTC)
    return AccessEvent.objects.filter(account_id=account_id, created__gte=begin, created__lt=month_after(begin))


def count_rows_in_file(uri: str) -> int | None:
    """Return the number of rows as the file's footer has it; None if it cannot be read."""
    try:
        with store.file_system().open_input_file(store.path_from_uri(uri)) as file:
            return int(parquet.read_metadata(file).num_rows)
    except ArrowException:
        return None


def file_name(uri: str) -> str:
    return uri.rpartition("/")[2]
