import django.db.models.deletion
from django.db import migrations, models

import kit.values.amounts

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
        migrations.AddField(
            "payment",
            "kind",
            models.CharField(
                choices=[("payment", "Payment"), ("payout", "Payout")], db_default="payment", max_length=7
            ),
        ),
        migrations.AddField(
            "payment",
            "grant",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="payments",
                to="analytics.grant",
            ),
        ),
        migrations.AddField("payment", "voided_at", models.DateTimeField(null=True)),
        migrations.AddField("payment", "void_reason", models.CharField(max_length=500, null=True)),
        migrations.AddField("closedstatement", "payouts", kit.values.amounts.TotalField(null=True)),
        migrations.AddField("closedstatement", "paid_for_credit", kit.values.amounts.TotalField(null=True)),
    ]
