"""Each requester has a key that seals what the audit log and events have of it (accounts.history)."""

from uuid import uuid4

from django.db import migrations, models

from kit.values.ids import RandomKey


class Migration(migrations.Migration):
    dependencies = [("licensing", "0043_refused_proxies_of_sites")]

    # First without the default: with it, PostgreSQL would rewrite the table under a lock.
    operations = [
        migrations.AddField("requester", "history_key", models.UUIDField(editable=False, null=True)),
        migrations.AlterField(
            "requester",
            "history_key",
            models.UUIDField(db_default=RandomKey(), default=uuid4, editable=False, null=True),
        ),
    ]
