from django.db import migrations

from kit.storage.summaries import AddSummaryOnline, summary, bloom_filter


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
                bloom_filter("type", "text", 10),
                bloom_filter("currency", "text", 20),
                bloom_filter("license_type", "text", 50),
                bloom_filter("license", "uuid", 200),
                bloom_filter("content", "uuid", 1000),
                bloom_filter("requester", "int8", 1000),
            ),
        )
    ]
