from django.db import migrations, models


class Migration(migrations.Migration):
    """The time zone of months that had begun before a change."""

    dependencies = [("accounts", "0022_settings_of_accounts")]

    operations = [
        migrations.AddField("account", "former_time_zone", models.CharField(editable=False, max_length=64, null=True)),
        migrations.AddField("account", "time_zone_since", models.DateTimeField(editable=False, null=True)),
        migrations.AlterField(
            "account",
            "time_zone",
            models.CharField(
                db_default="UTC",
                default="UTC",
                help_text="Months of statements, refills and fees begin by its clock.",
                max_length=64,
            ),
        ),
    ]
