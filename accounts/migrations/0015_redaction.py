"""Let a transaction that erases a person redact the audit log: titles, ids and values, and nothing else."""

from django.db import migrations, models

TABLE = "accounts_auditentry"
MESSAGE = "The audit log only grows: an entry is neither changed nor deleted."
PERMITTED = "EXISTS (SELECT 1 FROM accounts_redaction)"
REDACTED = "ARRAY['resource_id', 'resource_title', 'changes']"
KEPT = ("id, account_id, actor_type, actor_id, actor_name, action, resource_type, request_id, address, created").split(", ")
REFUSE = f"RAISE EXCEPTION USING MESSAGE = '{MESSAGE}', ERRCODE = 'restrict_violation'; END"


def let_redactions_through(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            "CREATE OR REPLACE FUNCTION refuse_to_change_the_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"IF TG_OP = 'UPDATE' THEN IF {PERMITTED} AND to_jsonb(NEW) - {REDACTED} = to_jsonb(OLD) - {REDACTED} "
            f"THEN RETURN NEW; END IF; END IF; {REFUSE} $$"
        )
        return
    old, new = (", ".join(f"{row}.{column}" for column in KEPT) for row in ("OLD", "NEW"))
    schema_editor.execute("DROP TRIGGER audit_log_refuses_UPDATE")
    schema_editor.execute(
        f"CREATE TRIGGER audit_log_refuses_UPDATE BEFORE UPDATE ON {TABLE} "
        f"WHEN NOT {PERMITTED} OR ({old}) IS NOT ({new}) BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END"
    )


def refuse_all_changes(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            "CREATE OR REPLACE FUNCTION refuse_to_change_the_audit_log() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {REFUSE} $$"
        )
        return
    schema_editor.execute("DROP TRIGGER audit_log_refuses_UPDATE")
    schema_editor.execute(
        f"CREATE TRIGGER audit_log_refuses_UPDATE BEFORE UPDATE ON {TABLE} BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END"
    )


class Migration(migrations.Migration):
    dependencies = [("accounts", "0014_edge_keys_and_unknown_hosts")]

    operations = [
        migrations.CreateModel(
            name="Redaction",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"))
            ],
            options={"default_permissions": ()},
        ),
        migrations.RunPython(let_redactions_through, refuse_all_changes),
    ]
