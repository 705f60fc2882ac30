from django.db import migrations

from kit.storage.summaries import AddSummaryOnline, summary, values_of


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
                values_of("action", "text", 30),
                values_of("actor_type", "text", 4),
                values_of("actor_id", "bytea", 100),
            ),
        )
    ]
