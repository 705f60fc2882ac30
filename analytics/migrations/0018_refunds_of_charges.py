from django.db import migrations, models

from kit.storage.online_indexes import AddIndexOnline


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("analytics", "0017_moments_of_decisions")]

    operations = [
        AddIndexOnline(
            "ledgerentry",
            models.Index(
                fields=["decision"],
                name="ledger_of_decision",
                condition=models.Q(type="adjustment", decision__isnull=False),
            ),
        ),
        AddIndexOnline(
            "ledgerentry",
            models.Index(
                fields=["license"],
                name="ledger_of_license_price",
                condition=models.Q(decision__isnull=True, license__isnull=False),
            ),
        ),
    ]
