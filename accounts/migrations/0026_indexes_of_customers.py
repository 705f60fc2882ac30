from django.db import migrations, models

from kit.storage.online_indexes import AddIndexOnline

KINDS = [
    "requester", "license", "license_client", "wallet", "payment", "ledger_entry", "portal_session", "access_summary",
    "limit", "event",
]  # fmt: skip
TYPES = [
    "requester.updated", "license.created", "license.updated", "license.revoked", "license.expiring",
    "license.expired", "wallet.low", "wallet.exhausted", "wallet.topped_up", "revenue.adjusted", "payment.created",
    "payment.voided", "access.denied", "access.allowed", "limit.reached",
]  # fmt: skip


class Migration(migrations.Migration):
    """Index events by customer, and the rows that the previous version wrote, because an erasure reads them."""

    atomic = False
    dependencies = [("accounts", "0025_customers_by_reference")]

    operations = [
        AddIndexOnline(
            "auditentry",
            models.Index(
                condition=models.Q(("resource_type__in", KINDS), ("sealed", None)),
                fields=["account", "id"],
                name="audit_unsealed",
            ),
        ),
        AddIndexOnline(
            "event",
            models.Index(
                condition=models.Q(("customer__isnull", False)), fields=["customer"], name="events_of_customer"
            ),
        ),
        AddIndexOnline(
            "event",
            models.Index(
                condition=models.Q(("other_customer__isnull", False)),
                fields=["other_customer"],
                name="events_of_other",
            ),
        ),
        AddIndexOnline(
            "event",
            models.Index(
                condition=models.Q(("sealed", None), ("type__in", TYPES)),
                fields=["account", "id"],
                name="events_unsealed",
            ),
        ),
    ]
