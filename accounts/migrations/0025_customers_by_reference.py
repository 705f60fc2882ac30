"""The audit log and events name customers by reference, and have what describes them sealed (accounts.history)."""

from django.db import migrations, models

MESSAGE = "The audit log only grows: an entry is neither changed nor deleted."
REDACTED = ["resource_id", "resource_title", "changes"]
SEALED = ["customer", "other_customer", "sealed"]
COLUMNS = {
    "customer": models.BigIntegerField(editable=False, null=True),
    "other_customer": models.BigIntegerField(editable=False, null=True),
    "sealed": models.BinaryField(null=True),
}


def permit(names):
    """Return what lets redactions change these columns. On SQLite the trigger names the columns that it protects."""

    def replace_function(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            columns = f"ARRAY{names}"
            schema_editor.execute(
                "CREATE OR REPLACE FUNCTION refuse_to_change_the_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$ "
                "BEGIN IF TG_OP = 'UPDATE' THEN IF EXISTS (SELECT 1 FROM accounts_redaction) "
                f"AND to_jsonb(NEW) - {columns} = to_jsonb(OLD) - {columns} THEN RETURN NEW; END IF; END IF; "
                f"RAISE EXCEPTION USING MESSAGE = '{MESSAGE}', ERRCODE = 'restrict_violation'; END $$"
            )

    return replace_function


class Migration(migrations.Migration):
    dependencies = [("accounts", "0024_refused_proxies")]

    operations = [
        migrations.AddField(
            "account", "seals_history", models.BooleanField(db_default=False, default=True, editable=False)
        ),
        *[migrations.AddField("auditentry", name, field) for name, field in COLUMNS.items()],
        *[migrations.AddField("event", name, field) for name, field in COLUMNS.items()],
        migrations.RunPython(permit(REDACTED + SEALED), permit(REDACTED)),
    ]
