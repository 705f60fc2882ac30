import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0009_access_events_and_limits")]

    operations = [
        migrations.AlterField(
            model_name="idempotencyrecord",
            name="account",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
            ),
        ),
    ]
