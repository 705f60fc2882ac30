"""Statistics of tables for PostgreSQL's planner, before autovacuum gathers them."""

from functools import partial

from django.db import connection, models, transaction

FEWEST_ROWS = 100  # of fewer, statistics would mislead the planner about the rows that follow


def gather_first_statistics(*written: type[models.Model], rows: int) -> None:
    """After the commit of at least FEWEST_ROWS rows, gather the statistics of these tables if they have none.

    Without statistics, the planner takes an index of all rows of an account to be as good as one of the row asked for.
    Autovacuum would need up to a minute, in which each look-up reads all rows of a new catalogue.
    """
    if connection.vendor == "postgresql" and rows >= FEWEST_ROWS:
        for model in written:
            transaction.on_commit(partial(gather_if_none, model._meta.db_table), robust=True)


def gather_if_none(table: str) -> None:
    """Gather the statistics of a table that has none (-1), or those of an empty one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples <= 0 FROM pg_class WHERE oid = %s::regclass", [table])
        [has_none] = cursor.fetchone()
        if has_none:
            cursor.execute(f'ANALYZE (SKIP_LOCKED) "{table}"')
