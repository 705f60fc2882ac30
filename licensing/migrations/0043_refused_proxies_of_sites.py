from django.db import migrations, models


class Migration(migrations.Migration):
    """Since when, when last, and with which key a proxy was refused that asked about a site."""

    dependencies = [("licensing", "0042_downloads_of_proxy_files")]

    operations = [
        migrations.AddField("site", "refused_since", models.DateTimeField(blank=True, editable=False, null=True)),
        migrations.AddField("site", "refused_at", models.DateTimeField(blank=True, editable=False, null=True)),
        migrations.AddField(
            "site", "refused_key", models.CharField(blank=True, editable=False, max_length=40, null=True)
        ),
    ]
