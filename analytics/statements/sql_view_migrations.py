"""Creates the views of statements after migrations, and drops them before those that change tables they read.

SQLite cannot rename a table used by a view, and PostgreSQL cannot change its columns. So SQLite drops the views before
all migrations. PostgreSQL drops and restores them in the transaction of each migration that might do so, and replaces
them in one transaction afterwards: a running service always finds views.
"""

from collections.abc import Sequence

from django.db import connections, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.backends.utils import CursorWrapper
from django.db.migrations import AddConstraint, AddField, Migration, RunPython, RunSQL
from django.db.migrations.operations.models import IndexOperation
from django.db.migrations.state import StateApps

from analytics.statements.sql_views import SQL_OF_VENDOR, VIEWS
from kit.storage.lock_waits import until_unlocked
from kit.storage.row_changes import ChangeRows

HARMLESS = (AddField, AddConstraint, IndexOperation, ChangeRows)  # unless they are undone
Plan = Sequence[tuple[Migration, bool]]  # with whether it is undone
TABLES = {
    "accounts_account",
    "analytics_entry",
    "analytics_ledgerentry",  # views of entries, as the next two names in earlier migrations are tables
    "analytics_payment",
    "analytics_walletentry",
    "analytics_statementbook",
    "analytics_closedstatement",
    "analytics_closedline",
}


def drop_views(using: str = "default", plan: Plan = (), **options: object) -> None:
    """Drop the views before migrations that may change columns of their tables, if possible only for each of them."""
    connection = connections[using]
    is_postgresql = connection.vendor == "postgresql"
    changing = [one for one in plan if changes_tables([one]) or not is_postgresql]
    if is_postgresql and all(migration.atomic and not is_undone for migration, is_undone in changing):
        for migration, _ in changing:
            without_views(migration)
    elif changing:
        with connection.cursor() as cursor:
            drop_all(cursor)


def without_views(migration: Migration) -> None:
    """Let a migration drop the views first and restore them last, in its transaction."""
    definitions: dict[str, str] = {}

    def drop(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(
                "SELECT viewname, definition FROM pg_views WHERE schemaname = current_schema() AND viewname = ANY(%s)",
                [list(VIEWS)],
            )
            definitions.update(cursor.fetchall())
            drop_all(cursor)

    def restore(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        with schema_editor.connection.cursor() as cursor:
            for name in VIEWS:
                if name in definitions:
                    cursor.execute(f"CREATE VIEW {name} AS {definitions[name]}")

    vars(migration)["operations"] = [RunPython(drop), *migration.operations, RunPython(restore)]


def changes_tables(plan: Plan) -> bool:
    """Whether migrations change columns of a table that the views read, or run code of this app, which might."""
    return any(
        migration.app_label == "analytics"
        if isinstance(operation, RunPython | RunSQL)
        else f"{migration.app_label}_{getattr(operation, 'model_name', '').lower()}" in TABLES
        for migration, is_undone in plan
        for operation in migration.operations
        if is_undone or not isinstance(operation, HARMLESS)
    )


def make_views(using: str = "default", plan: Plan = (), **options: object) -> None:
    """Create the views after migrations, or replace them. Does nothing unless their tables exist."""
    connection = connections[using]
    with connection.cursor() as cursor:
        there = {one.name for one in connection.introspection.get_table_list(cursor)}
    if ("analytics_statement" in there and not plan) or not there >= TABLES:
        return

    def replace_all() -> None:
        with transaction.atomic(using=using), connection.cursor() as cursor:
            drop_all(cursor)
            for view in VIEWS.values():
                cursor.execute(view.format(**SQL_OF_VENDOR[connection.vendor]))

    until_unlocked(replace_all)


def drop_all(cursor: CursorWrapper) -> None:
    for name in reversed(VIEWS):
        cursor.execute(f"DROP VIEW IF EXISTS {name}")
