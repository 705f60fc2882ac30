"""Ages in the database that a scrape reads: of the webhook backlog, and of the archive."""

from collections.abc import Iterator
from datetime import UTC, datetime

from django.db.models import Max, Min
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from accounts.webhooks.models import EndpointStatus, WebhookDelivery, WebhookEndpoint
from analytics.archive.models import ArchivedMonth
from analytics.events.partitions import month_after
from kit.storage.reading import stored_now


def database_figures() -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "licensing_webhook_backlog_age_seconds",
        "How long the oldest delivery has been due that no worker has begun; 0 if none is.",
        value=backlog_age(),
    )
    if (end := archived_until()) is not None:
        yield GaugeMetricFamily(
            "licensing_archive_end_timestamp_seconds",
            "End of the newest month in the archive, in Unix seconds.",
            value=end.timestamp(),
        )


def backlog_age() -> float:
    """Endpoints that are paused or disabled do not count."""
    now = stored_now()
    endpoints = WebhookEndpoint.objects.filter(status=EndpointStatus.ENABLED).exclude(paused_until__gt=now)
    due = WebhookDelivery.objects.filter(endpoint__in=endpoints).aggregate(first=Min("due_at"))["first"]
    return 0.0 if due is None else max((now - due).total_seconds(), 0.0)


def archived_until() -> datetime | None:
    """Return the end of the newest archived month; None without an archive."""
    month = ArchivedMonth.objects.filter(rows__isnull=False).aggregate(last=Max("month"))["last"]
    return None if month is None else month_after(datetime(month.year, month.month, 1, tzinfo=UTC))
