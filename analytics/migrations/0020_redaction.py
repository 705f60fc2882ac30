"""Let a transaction that erases a person redact the descriptions of ledger entries and of closed statements' lines."""

from django.db import migrations

OF_DEMO = "SELECT 1 FROM accounts_account WHERE id = OLD.account_id AND is_demo"
PERMITTED = "EXISTS (SELECT 1 FROM accounts_redaction)"
LEDGER = "the ledger is append-only: a correction is an entry of its own"
MONTHS = "a closed month never changes: a correction is an entry of the month in which it is made"
FUNCTIONS = {"analytics_refuse_change": LEDGER, "analytics_refuse_change_of_month": MONTHS}
ENTRY = """id, account_id, type, amount, currency, occurred_at, license_id, license_type, decision_id, content_id,
  requester_id, created""".split(",")
LINE = """id, account_id, requester_id, month, currency, type, license_id, license_type, content_id, amount, entries,
  occurred_at, created, latest""".split(",")
# Trigger: its table, the columns that never change, and its message.
TRIGGERS = {
    "ledger_refuses_update": ("analytics_ledgerentry", ENTRY, LEDGER),
    "statement_lines_refuse_update": ("analytics_closedline", LINE, MONTHS),
}


def let_redactions_through(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for name, message in FUNCTIONS.items():
            schema_editor.execute(
                f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                f"IF TG_OP = 'DELETE' AND EXISTS ({OF_DEMO}) THEN RETURN OLD; END IF; "
                f"IF TG_OP = 'UPDATE' THEN IF {PERMITTED} "
                f"AND to_jsonb(NEW) - 'description' = to_jsonb(OLD) - 'description' THEN RETURN NEW; END IF; END IF; "
                f"RAISE EXCEPTION '{message}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
            )
        return
    for name, (table, columns, message) in TRIGGERS.items():
        old, new = (", ".join(f"{row}.{column.strip()}" for column in columns) for row in ("OLD", "NEW"))
        schema_editor.execute(f"DROP TRIGGER {name}")
        schema_editor.execute(
            f"CREATE TRIGGER {name} BEFORE UPDATE ON {table} "
            f"WHEN NOT {PERMITTED} OR ({old}) IS NOT ({new}) BEGIN SELECT RAISE(ABORT, '{message}'); END"
        )


def refuse_all_changes(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for name, message in FUNCTIONS.items():
            schema_editor.execute(
                f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                f"IF TG_OP = 'DELETE' AND EXISTS ({OF_DEMO}) THEN RETURN OLD; END IF; "
                f"RAISE EXCEPTION '{message}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
            )
        return
    for name, (table, _, message) in TRIGGERS.items():
        schema_editor.execute(f"DROP TRIGGER {name}")
        schema_editor.execute(
            f"CREATE TRIGGER {name} BEFORE UPDATE ON {table} BEGIN SELECT RAISE(ABORT, '{message}'); END"
        )


class Migration(migrations.Migration):
    dependencies = [("analytics", "0019_wallets"), ("accounts", "0015_redaction")]

    operations = [migrations.RunPython(let_redactions_through, refuse_all_changes)]
