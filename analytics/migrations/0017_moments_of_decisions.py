from django.db import migrations, models

from kit.storage.online_indexes import ReplaceIndexOnline


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("analytics", "0016_ascending_indexes")]

    operations = [
        ReplaceIndexOnline("accessevent", models.Index(fields=["account", "created"], name="events_newest_first")),
    ]
