from django.db import migrations
from django.db.models.fields.json import KT

from kit.storage.summaries import AddSummaryOnline, summary, bloom_filter


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
                bloom_filter("policy", "uuid", 100),
                bloom_filter("reason", "text", 20),
                bloom_filter(KT("facts__url"), "text", 1000),
                bloom_filter(KT("facts__siteId"), "text", 50),
                bloom_filter(KT("facts__identifiedBy"), "text", 10),
                bloom_filter(KT("facts__referrer"), "text", 200),
            ),
        )
    ]
