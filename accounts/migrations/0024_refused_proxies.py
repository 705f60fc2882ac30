from django.db import migrations, models


class Migration(migrations.Migration):
    """Since when, when last, and why a proxy was refused with a key."""

    dependencies = [("accounts", "0023_months_of_accounts")]

    operations = [
        migrations.AddField(
            "apikey", "refused_since", models.DateTimeField(blank=True, editable=False, null=True)
        ),
        migrations.AddField("apikey", "refused_at", models.DateTimeField(blank=True, editable=False, null=True)),
        migrations.AddField(
            "apikey", "refusal", models.CharField(blank=True, editable=False, max_length=255, null=True)
        ),
    ]
