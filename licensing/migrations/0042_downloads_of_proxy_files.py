from django.db import migrations, models


class Migration(migrations.Migration):
    """When the file of a site's proxy was last downloaded, and from what it was made."""

    dependencies = [("licensing", "0041_portal_sessions")]

    operations = [
        migrations.AddField("site", "proxy_file_at", models.DateTimeField(blank=True, editable=False, null=True)),
        migrations.AddField(
            "site", "proxy_file_digest", models.CharField(blank=True, editable=False, max_length=32, null=True)
        ),
    ]
