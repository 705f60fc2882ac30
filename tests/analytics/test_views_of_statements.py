import psycopg
import pytest
from django.core.management import call_command
from django.db import connection, migrations, models
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations.base import Operation

from analytics.statements.sql_view_migrations import changes_tables
from analytics.statements.sql_views import VIEWS
from kit.storage.online_indexes import AddIndexOnline
from kit.storage.postgresql.poolers import connection_string

FIELD = models.TextField(null=True)
INDEX = models.Index(fields=["created"], name="by_created")
only_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer")
# As an earlier version made them, but with fewer columns.
FORMER_VIEWS = """
CREATE VIEW analytics_openline AS SELECT currency FROM analytics_ledgerentry;
CREATE VIEW analytics_statementline AS
  SELECT currency FROM analytics_closedline UNION ALL SELECT currency FROM analytics_openline;
CREATE VIEW analytics_openstatement AS SELECT DISTINCT currency FROM analytics_openline;
CREATE VIEW analytics_statement AS
  SELECT currency FROM analytics_closedstatement UNION ALL SELECT currency FROM analytics_openstatement;
CREATE VIEW analytics_balancechange AS SELECT currency FROM analytics_openline;
"""


def plan_of(app: str, *operations: Operation) -> list[tuple[migrations.Migration, bool]]:
    migration = migrations.Migration("0099_change", app)
    migration.operations = list(operations)
    return [(migration, False)]


@pytest.mark.parametrize(
    ("app", "operation", "changes"),
    [
        ("analytics", migrations.AddField("LedgerEntry", "more", FIELD), False),
        ("analytics", migrations.RemoveField("LedgerEntry", "description"), True),
        ("analytics", migrations.AlterField("closedline", "description", FIELD), True),
        ("accounts", migrations.AlterField("account", "name", FIELD), True),
        ("analytics", migrations.RunPython(migrations.RunPython.noop), True),
        ("analytics", migrations.RunSQL("SELECT 1"), True),
        ("licensing", migrations.RunPython(migrations.RunPython.noop), False),
        ("licensing", migrations.AddField("content", "more", FIELD), False),
        ("analytics", AddIndexOnline("ledgerentry", INDEX), False),
    ],
)
def test_views_are_in_the_way_of_changes_of_their_tables_alone(app: str, operation: Operation, changes: bool):
    assert changes_tables(plan_of(app, operation)) is changes


def test_a_column_that_goes_again_is_a_change():
    [(migration, _)] = plan_of("analytics", migrations.AddField("LedgerEntry", "more", FIELD))
    assert changes_tables([(migration, True)])


@only_postgresql
@pytest.mark.django_db(transaction=True)
def test_there_is_no_moment_without_views(monkeypatch: pytest.MonkeyPatch):
    seen = []
    original = MigrationExecutor.migrate

    def migrate(self: MigrationExecutor, *args: object, **options: object) -> object:
        with psycopg.connect(connection_string()) as session:
            seen.extend(session.execute("SELECT viewname FROM pg_views WHERE viewname = ANY(%s)", [list(VIEWS)]))
        return original(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(MigrationExecutor, "migrate", migrate)
    try:
        call_command("migrate", "licensing", "0044", verbosity=0)  # undoes nothing of the views' tables
    finally:
        call_command("migrate", verbosity=0)
    assert len(seen) == 2 * len(VIEWS)


@only_postgresql
@pytest.mark.django_db(transaction=True)
def test_views_stay_while_a_column_of_theirs_changes(monkeypatch: pytest.MonkeyPatch):
    seen: dict[str, int] = {}
    original = MigrationExecutor.apply_migration

    def apply(self: MigrationExecutor, state: object, migration: migrations.Migration, **options: object) -> object:
        result = original(self, state, migration, **options)  # type: ignore[arg-type]
        with psycopg.connect(connection_string()) as session:
            found = session.execute("SELECT viewname FROM pg_views WHERE viewname = ANY(%s)", [list(VIEWS)])
            seen[migration.name] = len(found.fetchall())
        return result

    call_command("migrate", "analytics", "0020", verbosity=0)
    try:
        with connection.cursor() as cursor:
            cursor.execute(FORMER_VIEWS)
        monkeypatch.setattr(MigrationExecutor, "apply_migration", apply)
    finally:
        call_command("migrate", verbosity=0)
    assert "0021_payments_and_credits_of_statements" in seen
    assert set(seen.values()) == {len(VIEWS)}
