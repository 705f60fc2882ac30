from django.db import migrations, models, transaction
from django.db.models import Q

from kit.storage.online_indexes import AddIndexOnline, build_concurrently, replace_once

SETTLES = Q(type__in=["payment", "payout"])
NAMES_NO_CHARGE = Q(license=None, license_type=None, decision=None, content=None, fee=None)
CONSISTENT = (
    Q(type__in=["license", "adjustment"], grant=None, reverses=None)
    | Q(type__in=["fee", "usage"], amount__gte=0, grant=None, reverses=None)
    | (
        SETTLES
        & NAMES_NO_CHARGE
        & Q(requester__isnull=False)
        & (Q(reverses__isnull=False, amount__lt=0) | Q(reverses=None, amount__gt=0))
        & (Q(grant=None) | Q(type="payment"))
    )
)


class AddConstraintOnline(migrations.AddConstraint):
    """Add a constraint without blocking writers on PostgreSQL; on SQLite, keep the triggers of the table."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        if schema_editor.connection.vendor == "sqlite":
            with transaction.atomic(using=schema_editor.connection.alias):
                known = read_triggers(schema_editor.connection)
                super().database_forwards(app_label, schema_editor, from_state, to_state)
                restore_triggers(schema_editor.connection, known)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        table, name = (schema_editor.quote_name(one) for one in (model._meta.db_table, self.constraint.name))
        statement = str(self.constraint.create_sql(model, schema_editor))
        if isinstance(self.constraint, models.UniqueConstraint):
            concurrent = replace_once(statement, "CREATE UNIQUE INDEX", "CREATE UNIQUE INDEX CONCURRENTLY")
            build_concurrently(schema_editor, self.constraint.name, concurrent)
            return
        schema_editor.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {name}")
        schema_editor.execute(f"{statement} NOT VALID", None)
        schema_editor.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}")

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        with transaction.atomic(using=schema_editor.connection.alias):
            known = read_triggers(schema_editor.connection)
            super().database_backwards(app_label, schema_editor, from_state, to_state)
            restore_triggers(schema_editor.connection, known)


def read_triggers(connection):
    """Return the SQL of the ledger's triggers by name. They go with a table that SQLite makes anew."""
    if connection.vendor != "sqlite":
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'analytics_ledgerentry'"
        )
        return dict(cursor.fetchall())


def restore_triggers(connection, known):
    kept = read_triggers(connection)
    with connection.cursor() as cursor:
        for name, statement in known.items():
            if name not in kept:
                cursor.execute(statement)


class Migration(migrations.Migration):
    """What finds payments among entries, and what the database holds of each kind of entry."""

    atomic = False
    dependencies = [("analytics", "0039_columns_of_settlements")]

    operations = [
        AddIndexOnline(
            "ledgerentry",
            models.Index(fields=["account", "created", "id"], name="settlements_newest_first", condition=SETTLES),
        ),
        AddIndexOnline(
            "ledgerentry",
            models.Index(fields=["requester", "created", "id"], name="settlements_of_requester", condition=SETTLES),
        ),
        AddIndexOnline(
            "ledgerentry",
            models.Index(fields=["grant"], name="settlement_of_grant", condition=Q(grant__isnull=False)),
        ),
        AddConstraintOnline(
            "ledgerentry",
            models.UniqueConstraint(
                fields=["account", "external_id"],
                name="one_settlement_of_external_id",
                condition=Q(external_id__isnull=False) & SETTLES,
            ),
        ),
        AddConstraintOnline(
            "ledgerentry",
            models.UniqueConstraint(fields=["reverses"], name="one_void", condition=Q(reverses__isnull=False)),
        ),
        AddConstraintOnline(
            "ledgerentry",
            models.CheckConstraint(condition=CONSISTENT, name="entries_are_consistent"),
        ),
    ]
