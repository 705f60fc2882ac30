from django.db import migrations

# What the admin's search boxes ask (operators.base.searching). SQLite reads the rows: it serves small installations.
INDEXES = {
    "content_by_title": "licensing_content USING gin (to_tsvector('simple'::regconfig, title)) WHERE deleted_at IS NULL",
    "content_by_external_id": "licensing_content (external_id varchar_pattern_ops) WHERE deleted_at IS NULL",
    "requesters_by_name": "licensing_requester USING gin (to_tsvector('simple'::regconfig, name)) WHERE name IS NOT NULL",
    "requesters_by_own_id": "licensing_requester (requester_id varchar_pattern_ops)",
}


def create_indexes(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for name, what in INDEXES.items():
            schema_editor.execute(f"CREATE INDEX {name} ON {what}")


def drop_indexes(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for name in INDEXES:
            schema_editor.execute(f"DROP INDEX {name}")


class Migration(migrations.Migration):
    dependencies = [("licensing", "0004_requesters_licenses_revision")]
    operations = [migrations.RunPython(create_indexes, drop_indexes)]
