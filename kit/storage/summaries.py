"""Summaries of the blocks of a large table on PostgreSQL, so that searches skip blocks without a rare value.

A summary is a BRIN index with a Bloom filter per column and block range. It takes a hundredth of a B-tree and costs
almost nothing per row written: rows are appended to blocks that are summarised later. Each search reads all blocks
that are not summarised yet.

Models do not list summaries, because SQLite has none.
"""

from django.contrib.postgres.indexes import BrinIndex, OpClass
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState
from django.db.models import Expression
from django.db.models.expressions import OrderBy
from django.db.models.functions import Collate
from django.db.models.indexes import IndexExpression

from kit.storage.lock_waits import short_locking, was_locked_out
from kit.storage.online_indexes import AddIndexOnline

# as django.contrib.postgres does when it is installed
IndexExpression.register_wrappers(OrderBy, OpClass, Collate)
BLOCKS = 64  # of 8 KiB in a range


def values_of(column: str | Expression, kind: str, distinct: int) -> OpClass:
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
SELECT indexrelid::regclass::text FROM pg_index
  JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
WHERE amname = 'brin' AND relkind = 'i' AND relnamespace = current_schema()::regnamespace
"""


def summarize_new_blocks() -> int:
    """Summarise the blocks that have been filled since, and return how many ranges that were.

    Autovacuum leaves out what is written while it runs, and forgets most of an import's requests. A table that it is
    just visiting is left to it.
    """
    if not is_postgresql(connection):
        return 0
    with connection.cursor() as cursor:
        cursor.execute(SUMMARIES)
        names = [name for (name,) in cursor.fetchall()]
    return sum(map(summarize, names))


def summarize(name: str) -> int:
    try:
        with short_locking() as cursor:
            cursor.execute("SELECT brin_summarize_new_values(%s::regclass)", [name])
            return int(cursor.fetchone()[0])
    except OperationalError as error:
        if not was_locked_out(error):
            raise
        return 0
