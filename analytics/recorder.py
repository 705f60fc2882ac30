"""Recording decisions: events, counts of rule limits, charges and usage figures, in one transaction.

`record` writes any number of decisions, of any accounts, in one statement on PostgreSQL: that the facts they were made
on still hold is checked, rule limits are counted, events and charges stored and rollups added to at the same moment.
The answer to a decision leaves after that has committed.
"""

from collections.abc import Sequence
from typing import Any

import psycopg
from django.db import connection

from analytics.batches import Batch, Entry, Outcome
from analytics.sqlite import record_on_sqlite


def record(entries: Sequence[Entry]) -> list[Outcome]:
    """Writes the decisions on Django's connection: in the caller's transaction, or on PostgreSQL in one of its own."""
    if not entries:
        return []
    batch = Batch(entries)
    if connection.vendor == "postgresql":
        return batch.read_row(run_prepared(*batch.statement()))
    with connection.cursor() as cursor:
        return record_on_sqlite(cursor, batch)


def run_prepared(statement: str, parameters: Sequence[Any]) -> Any:
    """The row that a statement returns, prepared once for each connection: planning it costs more than running it.

    Django's own cursors never prepare, so this takes one of psycopg's on the same connection.
    """
    connection.ensure_connection()
    raw: Any = connection.connection
    raw.prepare_threshold = 0
    with connection.wrap_database_errors, psycopg.Cursor(raw) as cursor:
        return cursor.execute(statement, parameters, prepare=True).fetchone()
