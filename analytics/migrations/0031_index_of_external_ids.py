from django.db import migrations, models

from kit.storage.online_indexes import AddIndexOnline


class Migration(migrations.Migration):
    """Finding the adjustment that has an `externalId`."""

    atomic = False
    dependencies = [("analytics", "0030_external_ids_of_adjustments")]

    operations = [
        AddIndexOnline(
            "ledgerentry",
            models.Index(
                fields=["account", "external_id"],
                name="ledger_by_external_id",
                condition=models.Q(external_id__isnull=False),
            ),
        ),
    ]
