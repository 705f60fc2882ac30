import django.db.models.deletion
from django.db import migrations, models

import kit.values.amounts

TABLE = "analytics_ledgerentry"
PERMITTED = "EXISTS (SELECT 1 FROM accounts_redaction)"
MESSAGE = "the ledger is append-only: a correction is an entry of its own"
ENTRY = ["id", "account_id", "type", "amount", "currency", "occurred_at", "license_id", "license_type", "decision_id",
         "content_id", "requester_id", "created", "external_id"]
TYPES = [("license", "Licence"), ("fee", "Fee"), ("usage", "Usage"), ("adjustment", "Adjustment")]


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
    refuse_updates_of([*ENTRY, "fee_id"], schema_editor)


def unprotect(apps, schema_editor):
    refuse_updates_of(ENTRY, schema_editor)


class Migration(migrations.Migration):
    """Recurring fees in the ledger, their refunds, and their sums in statements."""

    dependencies = [("analytics", "0031_indexes_of_external_ids_and_voids"), ("accounts", "0023_months_of_accounts")]

    operations = [
        migrations.AddField("closedstatement", "fees", kit.values.amounts.TotalField(null=True)),
        migrations.AddField(
            "ledgerentry",
            "fee",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                to="analytics.ledgerentry",
            ),
        ),
        migrations.RunPython(protect, unprotect),
        migrations.AlterField("closedline", "type", models.CharField(choices=TYPES, max_length=10)),
        migrations.AlterField("ledgerentry", "type", models.CharField(choices=TYPES, max_length=10)),
    ]
