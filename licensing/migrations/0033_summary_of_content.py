from django.db import migrations

from kit.storage.summaries import AddSummaryOnline, summary, bloom_filter


class Migration(migrations.Migration):
    """Rare values and ranges of the filters of GET /v1/content, and rows without a frequent value."""

    atomic = False
    dependencies = [("licensing", "0032_the_admin_says_customer")]

    operations = [
        AddSummaryOnline(
            "content",
            summary(
                "content_summary",
                # PostgreSQL compares a value only with the first column that can do so.
                bloom_filter("type", "text", 5),
                bloom_filter("status", "text", 2),
                bloom_filter("policy", "uuid", 100),
                bloom_filter("author", "text", 200),
                bloom_filter("category", "text", 50),
                bloom_filter("published_at", "date", 200),
                bloom_filter("word_count", "int4", 500),
                "created",
                "updated",
                "type",
                "status",
                "policy",
                "author",
                "category",
                "published_at",
                "word_count",
            ),
        )
    ]
