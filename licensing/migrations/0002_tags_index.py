from django.db import migrations


def create_index(apps, schema_editor):
    # SQLite has no index on the members of an array; its filter by tag reads the account's rows.
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("CREATE INDEX content_by_tag ON licensing_content USING gin (tags jsonb_path_ops)")


def drop_index(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP INDEX content_by_tag")


class Migration(migrations.Migration):
    dependencies = [("licensing", "0001_initial")]
    operations = [migrations.RunPython(create_index, drop_index)]
