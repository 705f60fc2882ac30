import django.db.models.deletion
from django.db import migrations, models

from kit.storage.row_changes import ChangeRows

TABLE = "analytics_payment"
PERMITTED = "EXISTS (SELECT 1 FROM accounts_redaction)"
MESSAGE = "payments are append-only: a void is an entry of its own"
ENTRY = [
    "id",
    "account_id",
    "requester_id",
    "kind",
    "amount",
    "currency",
    "received_at",
    "external_id",
    "grant_id",
    "created",
    "reverses_id",
]
VOIDS = """INSERT INTO analytics_payment (id, account_id, requester_id, kind, amount, currency, received_at, grant_id,
  note, created, reverses_id) """
COPIED = ("account_id, requester_id, kind, -amount, currency, voided_at, grant_id, void_reason, voided_at, id").split(
    ", "
)
# The previous version voids a payment by an update, and redacts both texts.
IS_VOID = "OLD.voided_at IS NULL AND NEW.voided_at IS NOT NULL"


def void_of(row, new_id):
    columns = ", ".join(column.replace("-", f"-{row}.") if "-" in column else f"{row}.{column}" for column in COPIED)
    return f"{new_id}, {columns}"


def add_voids(apps, schema_editor):
    """Write a row for each void, and let no payment change any more, except by erasures and the previous version."""
    if schema_editor.connection.vendor == "postgresql":
        new_id, texts = "gen_random_uuid()", "'{note,void_reason,voided_at}'::text[]"
        schema_editor.execute(
            f"CREATE FUNCTION analytics_refuse_payment_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"IF to_jsonb(NEW) - {texts} = to_jsonb(OLD) - {texts} THEN "
            f"IF {IS_VOID} THEN {VOIDS} VALUES ({void_of('NEW', new_id)}); RETURN NEW; END IF; "
            f"IF {PERMITTED} AND NEW.voided_at IS NOT DISTINCT FROM OLD.voided_at THEN RETURN NEW; END IF; END IF; "
            f"RAISE EXCEPTION '{MESSAGE}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
        )
        schema_editor.execute(
            f"CREATE TRIGGER payments_are_append_only BEFORE UPDATE ON {TABLE} "
            f"FOR EACH ROW EXECUTE FUNCTION analytics_refuse_payment_change()"
        )
    else:
        new_id = "randomblob(16)"
        old, new = (", ".join(f"{row}.{column}" for column in ENTRY) for row in ("OLD", "NEW"))
        permitted = f"({IS_VOID} OR {PERMITTED} AND NEW.voided_at IS OLD.voided_at)"
        schema_editor.execute(
            f"CREATE TRIGGER payments_are_append_only BEFORE UPDATE ON {TABLE} "
            f"WHEN NOT {permitted} OR ({old}) IS NOT ({new}) BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END"
        )
        schema_editor.execute(
            f"CREATE TRIGGER void_payment AFTER UPDATE ON {TABLE} WHEN {IS_VOID} "
            f"BEGIN {VOIDS} VALUES ({void_of('NEW', new_id)}); END"
        )
    schema_editor.execute(
        f"{VOIDS} SELECT {void_of('payment', new_id)} FROM {TABLE} payment WHERE payment.voided_at IS NOT NULL"
    )


def remove_voids(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION analytics_refuse_payment_change() CASCADE")
    else:
        schema_editor.execute("DROP TRIGGER payments_are_append_only")
        schema_editor.execute("DROP TRIGGER void_payment")
    schema_editor.execute(f"DELETE FROM {TABLE} WHERE reverses_id IS NOT NULL")


class Migration(migrations.Migration):
    """Voids as rows. The next release can drop the former columns, and what the triggers do for them."""

    dependencies = [("analytics", "0037_moves_as_wallet_entries"), ("accounts", "0015_redaction")]

    operations = [
        migrations.AddField(
            "payment",
            "reverses",
            models.OneToOneField(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="void",
                to="analytics.payment",
            ),
        ),
        ChangeRows(add_voids, remove_voids),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveIndex("payment", "voided_payments"),
                migrations.RemoveField("payment", "voided_at"),
                migrations.RemoveField("payment", "void_reason"),
            ]
        ),
    ]
