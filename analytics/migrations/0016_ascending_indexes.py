from django.db import migrations, models

from kit.storage.online_indexes import ReplaceIndexOnline


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("accounts", "0012_changes_of_epochs"),
        ("analytics", "0015_statements"),
        ("licensing", "0017_tests_of_policies"),
    ]

    operations = [
        # The next migration gives this index other columns, so the table is not read twice.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveIndex("accessevent", "events_newest_first"),
                migrations.AddIndex(
                    "accessevent", models.Index(fields=["account", "created", "id"], name="events_newest_first")
                ),
            ]
        ),
        ReplaceIndexOnline("accessevent", models.Index(fields=["content", "created"], name="events_of_content")),
        ReplaceIndexOnline("accessevent", models.Index(fields=["requester", "created"], name="events_of_requester")),
        ReplaceIndexOnline(
            "ledgerentry", models.Index(fields=["account", "created", "id"], name="ledger_newest_first")
        ),
    ]
