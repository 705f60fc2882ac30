"""Recording decisions: events, rate limits of rules, charges and pending usage, in one transaction.

`record` writes any number of decisions of any accounts, on PostgreSQL in one statement. It verifies that the facts
still hold, counts rate limits, and stores events, charges and pending rows, which are rolled up later
(analytics.rollups.roll_up). The reply to a decision is sent after the commit.
"""

from collections.abc import Sequence
from datetime import timedelta

from django.db import IntegrityError, connection, transaction

from analytics.recording.batch import Batch
from analytics.recording.entries import Case, Entry
from analytics.recording.outcomes import RECORDED_WITHIN, RETRY, Outcome
from analytics.recording.recorder_sqlite import record_on_sqlite
from kit.storage.loading import prepared_cursor
from kit.storage.postgresql.async_postgres import Parameter
from kit.storage.sqlite_turns import turn_to_write
from kit.telemetry.tracing import traced

OVERFLOWS = (IntegrityError, OverflowError)  # a total overflows SQLite's 64 bits


def record(entries: Sequence[Entry], within: timedelta | None = None) -> list[Outcome]:
    """Write the decisions on Django's connection: in the caller's transaction, or on PostgreSQL possibly in one of its
    own. Those that are older than `within` are not written.
    """
    if not entries:
        return []
    batch = Batch(entries, within)
    if connection.vendor == "postgresql":
        return batch.read_row(run_prepared(*batch.statement()))
    with connection.cursor() as cursor:
        return record_on_sqlite(cursor, batch)


def commit(entries: Sequence[Entry]) -> list[Outcome]:
    """Write the decisions in one transaction, or in one per account if a total would overflow.

    Nothing is written for an account with an overflow: its outcomes are RETRY, so its checks are retried and fail
    without affecting other accounts.
    """
    try:
        return record_together(entries)
    except OVERFLOWS:
        outcomes: dict[Case, Outcome] = {}
        for account in {entry.case.account for entry in entries}:
            entries_of_account = [entry for entry in entries if entry.case.account == account]
            try:
                outcomes_of_account = record_together(entries_of_account)
            except OVERFLOWS:
                outcomes_of_account = [RETRY] * len(entries_of_account)
            outcomes |= {
                entry.case: outcome for entry, outcome in zip(entries_of_account, outcomes_of_account, strict=True)
            }
        return [outcomes[entry.case] for entry in entries]


def record_together(entries: Sequence[Entry]) -> list[Outcome]:
    with turn_to_write(), transaction.atomic():
        return record(entries, RECORDED_WITHIN)


@traced("INSERT decisions", system="postgresql")
def run_prepared(statement: str, parameters: Sequence[Parameter]) -> tuple[object, ...]:
    """Run a statement, prepared once per connection, and return its row."""
    with prepared_cursor() as cursor:
        cursor.execute(statement, parameters)
        row: tuple[object, ...] = cursor.fetchone()
    return row
