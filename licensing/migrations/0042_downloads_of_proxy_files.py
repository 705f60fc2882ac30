from django.db import migrations, models


class Migration(migrations.Migration):
    """When the file of a site was last downloaded for each proxy, and from what it was made."""

    dependencies = [("licensing", "0041_portal_sessions")]

    operations = [
        migrations.AddField("site", "proxy_files", models.JSONField(blank=True, editable=False, null=True)),
    ]
