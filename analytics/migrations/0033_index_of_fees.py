from django.db import migrations, models

from kit.storage.online_indexes import AddIndexOnline


class Migration(migrations.Migration):
    """Finding the refunds of a fee."""

    atomic = False
    dependencies = [("analytics", "0032_fees")]

    operations = [
        AddIndexOnline(
            "ledgerentry",
            models.Index(fields=["fee"], name="ledger_of_fee", condition=models.Q(fee__isnull=False)),
        ),
    ]
