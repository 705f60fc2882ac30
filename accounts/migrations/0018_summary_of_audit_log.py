from django.db import migrations

from kit.storage.summaries import AddSummaryOnline, summary, bloom_filter


class Migration(migrations.Migration):
    """Rare values of the filters of GET /v1/audit."""

    atomic = False
    dependencies = [("accounts", "0017_edge_meter")]

    operations = [
        AddSummaryOnline(
            "auditentry",
            summary(
                "audit_summary",
                "created",
                bloom_filter("action", "text", 30),
                bloom_filter("actor_type", "text", 4),
                bloom_filter("actor_id", "bytea", 100),
            ),
        )
    ]
