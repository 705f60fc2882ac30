from django.db import migrations, models

from kit.storage.online_indexes import AddIndexOnline


class Migration(migrations.Migration):
    """Finding the adjustment of an `externalId`, the payment for a grant, and the voids of a month."""

    atomic = False
    dependencies = [("analytics", "0030_external_ids_payouts_and_voids")]

    operations = [
        AddIndexOnline(
            "ledgerentry",
            models.Index(
                fields=["account", "external_id"],
                name="ledger_by_external_id",
                condition=models.Q(external_id__isnull=False),
            ),
        ),
        AddIndexOnline(
            "payment",
            models.Index(
                fields=["account", "voided_at"],
                name="voided_payments",
                condition=models.Q(voided_at__isnull=False),
            ),
        ),
        AddIndexOnline(
            "payment",
            models.Index(fields=["grant"], name="payments_of_grant", condition=models.Q(grant__isnull=False)),
        ),
    ]
