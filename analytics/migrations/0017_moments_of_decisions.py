from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analytics", "0016_ascending_indexes")]

    operations = [
        migrations.RemoveIndex("accessevent", "events_newest_first"),
        migrations.AddIndex(
            "accessevent", models.Index(fields=["account", "created"], name="events_newest_first")
        ),
    ]
