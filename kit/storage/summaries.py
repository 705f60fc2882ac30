"""Summaries of the blocks of a large table on PostgreSQL, so that searches skip blocks without a rare value.

A summary is a BRIN index with a Bloom filter per column and block range. It takes a hundredth of a B-tree and costs
almost nothing per row written: rows are appended to blocks that are summarised later. Each search reads all blocks
that are not summarised yet.

Models do not list summaries, because SQLite has none.
"""

import logging
from typing import cast

from django.contrib.postgres.indexes import BrinIndex, OpClass
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState
from django.db.models import Expression
from django.db.models.expressions import OrderBy
from django.db.models.functions import Collate
from django.db.models.indexes import IndexExpression

from kit.storage.limited import TookTooLong, rows_within
from kit.storage.lock_waits import short_lock_transaction, was_locked_out
from kit.storage.online_indexes import AddIndexOnline

logger = logging.getLogger(__name__)

# as django.contrib.postgres does when it is installed
IndexExpression.register_wrappers(OrderBy, OpClass, Collate)
BLOCKS = 64  # of 8 KiB in a range


def bloom_filter(column: str | Expression, kind: str, distinct: int) -> OpClass:
    """Return a Bloom filter over a column of a type, sized for the number of distinct values in a range."""
    return OpClass(column, f"{kind}_bloom_ops(n_distinct_per_range={distinct:d}, false_positive_rate=0.005)")


def summary(name: str, *columns: str | OpClass) -> BrinIndex:
    """Return an index of Bloom filters, and of the lowest and highest value of the columns that are named."""
    return BrinIndex(*columns, name=name, pages_per_range=BLOCKS, autosummarize=True)


class AddSummaryOnline(AddIndexOnline):
    """Add a summary without blocking writers; does nothing on SQLite."""

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Leave the model as it is."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if is_postgresql(schema_editor.connection):
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if is_postgresql(schema_editor.connection):
            super().database_backwards(app_label, schema_editor, from_state, to_state)


def is_postgresql(connection: BaseDatabaseWrapper) -> bool:
    return connection.vendor == "postgresql"


SUMMARIES = """
SELECT indexrelid::regclass::text, pg_stat_get_tuples_inserted(indrelid) FROM pg_index
  JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
WHERE amname = 'brin' AND relkind = 'i' AND relnamespace = current_schema()::regnamespace
"""
# How many rows each summary's table had been given when it was last found complete; None if it cannot be mended.
complete: dict[str, int | None] = {}


def summarize_new_blocks() -> int:
    """Summarise the blocks that have been filled since, and return how many ranges that were.

    Autovacuum leaves out what is written while it runs, and forgets most of an import's requests. A table that it is
    just visiting is left to it.
    """
    if not is_postgresql(connection):
        return 0
    with connection.cursor() as cursor:
        cursor.execute(SUMMARIES)
        found = cursor.fetchall()
    count = 0
    for name, inserted in found:
        try:
            count += summarize(name)
            known = complete.get(name, -1)
            if known is not None and known != inserted:
                count += redo_interrupted(name)
                complete[name] = inserted
        except OperationalError as error:
            if not was_locked_out(error):
                raise
        except Unmendable:
            complete[name] = None
            logger.warning(
                "Searches read blocks that %s should exclude. REINDEX INDEX CONCURRENTLY %s mends it.", name, name
            )
    return count


def summarize(name: str) -> int:
    with short_lock_transaction() as cursor:
        cursor.execute("SELECT brin_summarize_new_values(%s::regclass)", [name])
        return int(cursor.fetchone()[0])


class Unmendable(Exception):
    """Searches read blocks that a summary should exclude, and to summarise them again does not help."""


def redo_interrupted(name: str) -> int:
    """Summarise again what was interrupted, and return how many ranges that were. Raises Unmendable.

    If a summary is cancelled, or the server crashes meanwhile, PostgreSQL keeps a placeholder for the range and never
    replaces it. Up to version 18, each search then reads all blocks from that range to the end of the table.
    """
    count, before = 0, -1
    while (first := first_unsummarised(name)) is not None:
        if first <= before:
            raise Unmendable
        before = first
        with short_lock_transaction() as cursor:
            # Rows that were added meanwhile shift the block a little.
            for block in range(max(0, first - BLOCKS), first + 2 * BLOCKS, BLOCKS):
                cursor.execute("SELECT brin_desummarize_range(%s::regclass, %s)", [name, block])
                cursor.execute("SELECT brin_summarize_range(%s::regclass, %s)", [name, block])
                count += int(cursor.fetchone()[0])
        count += summarize(name)  # a fast import fills blocks meanwhile
    return count


SEARCHABLE = """
SELECT indrelid::regclass::text, pg_relation_size(indrelid) / current_setting('block_size')::int,
  array_agg(pg_get_indexdef(indexrelid, attnum, true)), array_agg(format_type(atttypid, NULL))
FROM pg_index summary
  JOIN pg_attribute ON attrelid = indexrelid JOIN pg_opclass ON pg_opclass.oid = indclass[attnum - 1]
WHERE indexrelid = %s::regclass AND opcname LIKE '%%_bloom_ops' AND NOT EXISTS (
  SELECT FROM pg_index other JOIN pg_opclass class ON class.oid = other.indclass[0]
  WHERE other.indrelid = summary.indrelid AND class.opcmethod <> pg_opclass.opcmethod
    AND summary.indkey[attnum - 1] <> 0 AND summary.indkey[attnum - 1] = ANY (other.indkey::int2[])
)
GROUP BY indrelid
"""
# A value of each type that is in no row.
ABSENT = {
    "text": "no such value",
    "uuid": "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "bytea": "no such value",
    "integer": "-1",
    "bigint": "-1",
    "date": "0001-01-01",
}
SUMMARY_SETTINGS = {"enable_seqscan": "off", "enable_indexscan": "off", "max_parallel_workers_per_gather": "0"}
READING_SECONDS = 300


def first_unsummarised(name: str) -> int | None:
    """Return the first block of those that a search for absent values reads, or None if it reads hardly any.

    None also for a summary that has no columns to search.
    """
    if (search := search_by(name)) is None:
        return None
    blocks, absent = search
    explain = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {absent}"
    try:
        rows = rows_within(connection, READING_SECONDS, explain, None, SUMMARY_SETTINGS)
    except TookTooLong as error:
        raise Unmendable from error
    [([explained],)] = cast(list[tuple[list[dict[str, dict[str, int]]]]], rows)
    read = explained["Plan"].get("Lossy Heap Blocks", 0)
    return max(0, blocks - read) if read > 2 * BLOCKS else None


def search_by(name: str) -> tuple[int, str] | None:
    """Return the blocks of a summary's table, and a search for values that no row has; None without a Bloom filter.

    It names the columns that no other index has, so that PostgreSQL has to use the summary.
    """
    with connection.cursor() as cursor:
        cursor.execute(SEARCHABLE, [name])
        described = cursor.fetchone()
    if described is None:
        return None
    table, blocks, columns, types = described
    absent = " AND ".join(f"({column}) = '{ABSENT[kind]}'" for column, kind in zip(columns, types, strict=True))
    return blocks, f"SELECT FROM {table} WHERE {absent}"
