"""The Prometheus endpoint `/metrics`, and who may read it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from django.conf import settings
from django.db.models import Max, Min
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from accounts.auditing.models import AuditEntry
from accounts.events.models import Event
from accounts.retries.models import IdempotencyRecord
from accounts.webhooks.models import EndpointStatus, WebhookAttempt, WebhookDelivery, WebhookEndpoint
from analytics.archive.models import ArchivedMonth
from analytics.events import partitions
from analytics.events.partitions import month_after
from analytics.models import AccessEvent, Entry, RecentUsage
from kit.http.headers import TrustedProxies, get_client_address
from kit.storage.reading import stored_now
from kit.telemetry.metrics import BuildInfo, registry
from kit.telemetry.tables import TableSizes
from kit.telemetry.workers import worker_deaths  # noqa: F401 - the parent counts them, every worker shows them
from kit.version import VERSION
from licensing.visits.models import EdgeUsage, Page

# docs/reference/observability.md says what bounds each of them.
GROWING_TABLES = (
    AccessEvent._meta.db_table,
    *([partitions.DEFAULT] if partitions.has_partitions() else []),
    Entry._meta.db_table,
    AuditEntry._meta.db_table,
    IdempotencyRecord._meta.db_table,
    EdgeUsage._meta.db_table,
    Page._meta.db_table,
    Event._meta.db_table,
    WebhookDelivery._meta.db_table,
    WebhookAttempt._meta.db_table,
    RecentUsage._meta.db_table,
)
LEFT_BY_PROXIES = ("X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-IP", "Forwarded", "Via")


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


table_sizes = TableSizes(GROWING_TABLES, database_figures)


class MetricsMiddleware:
    """Answer scrapes with METRICS_TOKEN under any Host, such as a pod's address.

    Without a token, the check of the host keeps other sites' pages in a browser on this machine from reading them.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_scrape = request.path == "/metrics" and request.method == "GET"
        if is_scrape and settings.METRICS_TOKEN and may_read_metrics(request):
            return metrics(request)
        return self.get_response(request)


def metrics(request: HttpRequest) -> HttpResponse:
    """Return Prometheus metrics, of all workers if there are several."""
    if not may_read_metrics(request):
        raise Http404
    everything = registry()
    everything.register(BuildInfo(VERSION))
    everything.register(table_sizes)
    return HttpResponse(generate_latest(everything), content_type=CONTENT_TYPE_LATEST)


def may_read_metrics(request: HttpRequest) -> bool:
    """Whether the client sent METRICS_TOKEN; if none is set, whether it is on this machine and not behind a proxy."""
    if settings.METRICS_TOKEN:
        authorization = request.headers.get("Authorization", "")
        return constant_time_compare(authorization, f"Bearer {settings.METRICS_TOKEN}")
    client = get_client_address(request)
    # A trusted proxy reports its client, whose address then counts.
    names_client = "X-Forwarded-For" in request.headers and TrustedProxies().is_trusted_peer(
        request.META.get("REMOTE_ADDR", "")
    )
    forwarded = not names_client and any(name in request.headers for name in LEFT_BY_PROXIES)
    return client is not None and client.is_loopback and not forwarded
