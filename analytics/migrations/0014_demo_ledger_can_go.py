"""Entries of a demo account can be deleted, so that it can be removed; those of others never, and none be changed."""

from typing import Any

from django.db import migrations

TABLE, OF_DEMO = "analytics_ledgerentry", "SELECT 1 FROM accounts_account WHERE id = OLD.account_id AND is_demo"
MESSAGE = "the ledger is append-only: a correction is an entry of its own"


def allow_for_demo(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            f"CREATE OR REPLACE FUNCTION analytics_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"IF TG_OP = 'DELETE' AND EXISTS ({OF_DEMO}) THEN RETURN OLD; END IF; "
            f"RAISE EXCEPTION '{MESSAGE}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
        )
    else:
        schema_editor.execute("DROP TRIGGER ledger_refuses_delete")
        schema_editor.execute(
            f"CREATE TRIGGER ledger_refuses_delete BEFORE delete ON {TABLE} WHEN NOT EXISTS ({OF_DEMO}) "
            f"BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END"
        )


def refuse_for_all(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            f"CREATE OR REPLACE FUNCTION analytics_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"RAISE EXCEPTION '{MESSAGE}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
        )
    else:
        schema_editor.execute("DROP TRIGGER ledger_refuses_delete")
        schema_editor.execute(
            f"CREATE TRIGGER ledger_refuses_delete BEFORE delete ON {TABLE} "
            f"BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END"
        )


class Migration(migrations.Migration):
    dependencies = [("analytics", "0013_observed_decisions"), ("accounts", "0008_suspension_and_demo")]

    operations = [migrations.RunPython(allow_for_demo, refuse_for_all)]
