from django.db import migrations, models

from kit.storage.online_indexes import AddIndexOnline


class Migration(migrations.Migration):
    """Finding the fees that are due."""

    atomic = False
    dependencies = [("licensing", "0037_fees")]

    operations = [
        AddIndexOnline(
            "license",
            models.Index(
                fields=["account", "next_fee_at"],
                name="licenses_with_fees_due",
                condition=models.Q(next_fee_at__isnull=False),
            ),
        ),
    ]
