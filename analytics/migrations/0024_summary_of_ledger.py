from django.db import migrations

from kit.storage.summaries import AddSummaryOnline, summary, values_of


class Migration(migrations.Migration):
    """Rare values of the filters of GET /v1/revenue."""

    atomic = False
    dependencies = [("analytics", "0023_summary_of_decisions")]

    operations = [
        AddSummaryOnline(
            "ledgerentry",
            summary(
                "ledger_summary",
                "created",
                values_of("type", "text", 10),
                values_of("currency", "text", 20),
                values_of("license_type", "text", 50),
                values_of("license", "uuid", 200),
                values_of("content", "uuid", 1000),
                values_of("requester", "int8", 1000),
            ),
        )
    ]
