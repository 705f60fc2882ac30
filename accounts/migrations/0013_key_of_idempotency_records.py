import django.db.models.deletion
from django.db import migrations, models

TABLE = "accounts_idempotencyrecord"
COLUMNS = "account_id, key, fingerprint, status, reply, headers, created"
A_DAY_AGO = {"postgresql": "now() - interval '1 day'", "sqlite": "datetime('now', '-1 day')"}


def set_aside(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"LOCK TABLE {TABLE}")  # what is added between the copy and the drop would be lost
    # Older records count no more. Copying them would only make retries wait.
    schema_editor.execute(f"CREATE TABLE {TABLE}_before AS SELECT {COLUMNS} FROM {TABLE} "
        f"WHERE created >= {A_DAY_AGO[schema_editor.connection.vendor]}")


def put_back(apps, schema_editor):
    schema_editor.execute(f"INSERT INTO {TABLE} ({COLUMNS}) SELECT {COLUMNS} FROM {TABLE}_before")
    schema_editor.execute(f"DROP TABLE {TABLE}_before")


class Migration(migrations.Migration):
    """The key itself instead of a number and an index for each record, and no look-up of its account."""

    dependencies = [("accounts", "0012_changes_of_epochs")]

    operations = [
        migrations.RunPython(set_aside, put_back),
        migrations.DeleteModel("IdempotencyRecord"),
        migrations.CreateModel(
            "IdempotencyRecord",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "key", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("key", models.CharField(max_length=255)),
                ("fingerprint", models.BinaryField(max_length=32)),
                ("status", models.PositiveSmallIntegerField(default=0)),
                ("reply", models.BinaryField(default=bytes)),
                ("headers", models.BinaryField(null=True)),
                ("created", models.DateTimeField(db_index=True)),
                (
                    "account",
                    models.ForeignKey(
                        "accounts.account",
                        django.db.models.deletion.CASCADE,
                        db_constraint=False,
                        db_index=False,
                    ),
                ),
            ],
        ),
        migrations.RunPython(put_back, set_aside),
    ]
