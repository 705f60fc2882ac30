from django.db import migrations, models

TABLE = "analytics_ledgerentry"
PERMITTED = "EXISTS (SELECT 1 FROM accounts_redaction)"
MESSAGE = "the ledger is append-only: a correction is an entry of its own"
ENTRY = ["id", "account_id", "type", "amount", "currency", "occurred_at", "license_id", "license_type", "decision_id",
         "content_id", "requester_id", "created"]


def refuse_updates_of(columns, schema_editor):
    """Replace the trigger on SQLite; that of PostgreSQL covers every column."""
    if schema_editor.connection.vendor == "postgresql":
        return
    old, new = (", ".join(f"{row}.{column}" for column in columns) for row in ("OLD", "NEW"))
    schema_editor.execute("DROP TRIGGER IF EXISTS ledger_refuses_update")
    schema_editor.execute(
        f"CREATE TRIGGER ledger_refuses_update BEFORE UPDATE ON {TABLE} "
        f"WHEN NOT {PERMITTED} OR ({old}) IS NOT ({new}) BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END"
    )


def protect(apps, schema_editor):
    refuse_updates_of([*ENTRY, "external_id"], schema_editor)


def unprotect(apps, schema_editor):
    refuse_updates_of(ENTRY, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("analytics", "0029_zones_of_refills")]

    operations = [
        migrations.AddField("ledgerentry", "external_id", models.CharField(max_length=255, null=True)),
        migrations.RunPython(protect, unprotect),
    ]
