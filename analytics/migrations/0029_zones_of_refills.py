from django.db import migrations, models


class Migration(migrations.Migration):
    """The time zone in which a wallet's periods are counted; NULL is UTC, as before."""

    dependencies = [("analytics", "0028_archive_horizon")]

    operations = [
        migrations.AddField("wallet", "refill_zone", models.CharField(max_length=64, null=True)),
    ]
