import django.db.models.deletion
from django.db import migrations, models

TABLE, MESSAGE = "analytics_walletentry", "entries of wallets are never changed"
ENTRY = ["id", "account_id", "wallet_id", "type", "amount", "grant_id", "decision_id", "created"]
HOLDER = "(SELECT requester_id FROM analytics_wallet WHERE id = NEW.wallet_id)"
FINAL = "analytics_refuse_entry_change"


def refuse_changes(schema_editor, *, but_customer):
    """Refuse all updates, or all but one that adds the missing customer."""
    if schema_editor.connection.vendor == "postgresql":
        added = "OLD.requester_id IS NULL AND to_jsonb(NEW) - 'requester_id' = to_jsonb(OLD) - 'requester_id'"
        permit = f"IF {added} THEN RETURN NEW; END IF; " if but_customer else ""
        schema_editor.execute(
            f"CREATE OR REPLACE FUNCTION {FINAL}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {permit}"
            f"RAISE EXCEPTION '{MESSAGE}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
        )
        return
    old, new = (", ".join(f"{row}.{column}" for column in ENTRY) for row in ("OLD", "NEW"))
    refused = f"WHEN OLD.requester_id IS NOT NULL OR ({old}) IS NOT ({new})" if but_customer else ""
    schema_editor.execute("DROP TRIGGER wallet_entries_are_final")
    schema_editor.execute(
        f"CREATE TRIGGER wallet_entries_are_final BEFORE UPDATE ON {TABLE} {refused} "
        f"BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END"
    )


def name_customers(apps, schema_editor):
    """Add the customer to what the previous version writes. The next release can drop the trigger."""
    refuse_changes(schema_editor, but_customer=True)
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            f"CREATE FUNCTION analytics_name_customer() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN NEW.requester_id := {HOLDER}; RETURN NEW; END $$"
        )
        schema_editor.execute(
            f"CREATE TRIGGER name_customer BEFORE INSERT ON {TABLE} FOR EACH ROW "
            f"WHEN (NEW.requester_id IS NULL) EXECUTE FUNCTION analytics_name_customer()"
        )
    else:
        schema_editor.execute(
            f"CREATE TRIGGER name_customer AFTER INSERT ON {TABLE} WHEN NEW.requester_id IS NULL "
            f"BEGIN UPDATE {TABLE} SET requester_id = {HOLDER} WHERE id = NEW.id; END"
        )


def forget_customers(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION analytics_name_customer() CASCADE")
    else:
        schema_editor.execute("DROP TRIGGER name_customer")
    refuse_changes(schema_editor, but_customer=False)


class Migration(migrations.Migration):
    """The customer that an entry of a wallet counts for."""

    dependencies = [("analytics", "0035_entries_without_item_pending"), ("licensing", "0019_wallets")]

    operations = [
        migrations.AddField(
            "walletentry",
            "requester",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                to="licensing.requester",
            ),
        ),
        migrations.RunPython(name_customers, forget_customers),
    ]
