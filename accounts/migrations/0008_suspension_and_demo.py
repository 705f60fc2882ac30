from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0007_events_and_webhooks")]

    operations = [
        migrations.AddField(
            model_name="account",
            name="suspended_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="account",
            name="is_demo",
            field=models.BooleanField(blank=True, editable=False, null=True),
        ),
    ]
