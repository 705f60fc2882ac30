from django.db import migrations

from kit.storage.summaries import AddSummaryOnline, summary, values_of


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
                values_of("type", "text", 5),
                values_of("status", "text", 2),
                values_of("policy", "uuid", 100),
                values_of("author", "text", 200),
                values_of("category", "text", 50),
                values_of("published_at", "date", 200),
                values_of("word_count", "int4", 500),
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
