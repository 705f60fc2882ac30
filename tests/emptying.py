"""Empty the tables after a `transaction=True` test.

Django's flush truncates all 70 tables and makes content types and permissions anew, which takes longer than most of
these tests. Few tables have rows, so only those are emptied. What migrations and their signals have made is kept.
"""

from typing import NamedTuple

from django.core.management.sql import emit_post_migrate_signal
from django.db import connection, transaction

from config.management import append_only

MADE_BY_MIGRATIONS = ("auth_group", "auth_group_permissions", "auth_permission", "django_content_type")


class Extent(NamedTuple):
    """How many rows a table has, and the greatest id."""

    rows: int
    last: int


def extents_of_made() -> list[Extent]:
    """Return the extents of the tables in MADE_BY_MIGRATIONS."""
    parts = [f"SELECT {number}, count(*), max(id) FROM {name}" for number, name in enumerate(MADE_BY_MIGRATIONS)]  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts) + " ORDER BY 1")
        return [Extent(rows, last) for _, rows, last in cursor.fetchall()]


def empty_tables(made: list[Extent]) -> None:
    """Delete all rows but those that migrations have made, and make those anew if a test has changed them.

    `made` are their extents, and is corrected.
    """
    tables = tables_with_rows()
    if extents_of_made() == made:
        tables = [name for name in tables if name not in MADE_BY_MIGRATIONS]
        delete_rows(tables)
    else:
        delete_rows(tables)
        emit_post_migrate_signal(verbosity=0, interactive=False, db=connection.alias)
        made[:] = extents_of_made()


def tables_with_rows() -> list[str]:
    tables = connection.introspection.django_table_names(only_existing=False, include_views=False)
    parts = [f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in tables]  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts))
        return [name for (name,) in cursor.fetchall()]


def delete_rows(tables: list[str]) -> None:
    unlock, lock = append_only.unlocking(tables)
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in unlock:
            cursor.execute(statement)
        for name in tables:
            cursor.execute(f"DELETE FROM {name}")  # noqa: S608
        if connection.vendor == "postgresql":
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # triggers cannot be enabled before
        for statement in lock:
            cursor.execute(statement)
