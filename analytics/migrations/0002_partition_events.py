from django.db import migrations

TABLE = "analytics_accessevent"
INDEXES = {
    "events_newest_first": "(account_id, created DESC, id DESC)",
    "events_of_content": "(content_id, created DESC)",
    "events_of_requester": "(requester_id, created DESC)",
}


def partition(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    schema_editor.execute(f"ALTER TABLE {TABLE} RENAME TO {TABLE}_plain")
    schema_editor.execute(
        f"CREATE TABLE {TABLE} (LIKE {TABLE}_plain INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (id)"
    )
    schema_editor.execute(f"DROP TABLE {TABLE}_plain")
    schema_editor.execute(f"ALTER TABLE {TABLE} ADD PRIMARY KEY (id)")
    for name, columns in INDEXES.items():
        schema_editor.execute(f"CREATE INDEX {name} ON {TABLE} {columns}")
    schema_editor.execute(f"CREATE TABLE {TABLE}_default PARTITION OF {TABLE} DEFAULT")


class Migration(migrations.Migration):
    dependencies = [("analytics", "0001_initial")]
    operations = [migrations.RunPython(partition, migrations.RunPython.noop)]
