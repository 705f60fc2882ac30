from django.db import migrations

from kit.storage.summaries import AddSummaryOnline, summary


class Migration(migrations.Migration):
    """Ranges of `occurredAt` in GET /v1/revenue."""

    atomic = False
    dependencies = [("analytics", "0025_the_admin_says_customer")]

    operations = [AddSummaryOnline("ledgerentry", summary("ledger_times", "created", "occurred_at"))]
