from django.db import migrations

ROLLUPS = {"analytics_contentrevenue": "content_id", "analytics_requesterrevenue": "requester_id"}


def skip_rows_without_key(apps, schema_editor):
    """Let the previous version roll up pending entries without an item or requester, which it does not expect."""
    if schema_editor.connection.vendor != "postgresql":
        return
    schema_editor.execute(
        "CREATE FUNCTION analytics_skip_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"
    )
    for table, column in ROLLUPS.items():
        schema_editor.execute(
            f"CREATE TRIGGER skip_rows_without_key BEFORE INSERT ON {table} "
            f"FOR EACH ROW WHEN (NEW.{column} IS NULL) EXECUTE FUNCTION analytics_skip_row()"
        )


def refuse_rows_without_key(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION analytics_skip_row() CASCADE")


class Migration(migrations.Migration):
    """Skip rows without a key that the former version's roll-up inserts. The next release can drop the triggers."""

    dependencies = [("analytics", "0034_notices_of_wallets")]

    operations = [migrations.RunPython(skip_rows_without_key, refuse_rows_without_key)]
