from django.db import migrations
from django.db.models.fields.json import KT

from kit.storage.summaries import AddSummaryOnline, summary, values_of


class Migration(migrations.Migration):
    """Rare values of the filters of GET /v1/access/decisions that have no index."""

    atomic = False
    dependencies = [("analytics", "0022_wallet_moves")]

    operations = [
        AddSummaryOnline(
            "accessevent",
            summary(
                "events_summary",
                "created",
                values_of("policy", "uuid", 100),
                values_of("reason", "text", 20),
                values_of(KT("facts__url"), "text", 1000),
                values_of(KT("facts__siteId"), "text", 50),
                values_of(KT("facts__identifiedBy"), "text", 10),
                values_of(KT("facts__referrer"), "text", 200),
            ),
        )
    ]
