"""Pages beside the API: front page, reference, probes, metrics, public keys."""

from functools import cache

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.crypto import constant_time_compare
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.auditing.models import AuditEntry
from accounts.events.models import Event
from accounts.retries.models import IdempotencyRecord
from accounts.webhooks.models import WebhookAttempt, WebhookDelivery
from analytics.events import partitions
from analytics.models import AccessEvent, LedgerEntry, RecentUsage
from config.admin_settings import NAME
from config.documentation.build import COMMANDS
from config.documentation.serving import is_built
from config.live_check import live_check
from config.markdown import story
from config.probes import ALIVE, readiness
from kit.http.content_security import content_security_policy
from kit.http.middleware import TrustedProxies, client_address_of
from kit.rest.views import ApiViewSet
from kit.telemetry.metrics import BuildInfo, registry
from kit.telemetry.tables import TableSizes
from kit.version import VERSION
from licensing.access.models import Algorithm
from licensing.access.tokens.signing import key_set
from licensing.visits.models import Page, PageDay, ReferralDay, VisitorDay

CONTENT_SECURITY_POLICY = content_security_policy()

# docs/reference/observability.md says what bounds each of them.
GROWING_TABLES = (
    AccessEvent._meta.db_table,
    *([partitions.DEFAULT] if connection.vendor == "postgresql" else []),
    LedgerEntry._meta.db_table,
    AuditEntry._meta.db_table,
    IdempotencyRecord._meta.db_table,
    VisitorDay._meta.db_table,
    Page._meta.db_table,
    PageDay._meta.db_table,
    ReferralDay._meta.db_table,
    Event._meta.db_table,
    WebhookDelivery._meta.db_table,
    WebhookAttempt._meta.db_table,
    RecentUsage._meta.db_table,
)
table_sizes = TableSizes(GROWING_TABLES)

LEFT_BY_PROXIES = ("X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-IP", "Forwarded", "Via")


def page(request: HttpRequest, template: str, place: str, **context: object) -> HttpResponse:
    """Render a page beside the API; `place` is its entry in the navigation bar.

    It links to the admin only if that is served at the same address.
    """
    admin = "/admin/" if settings.ADMIN and not (settings.ADMIN_HOST or settings.ADMIN_PORT) else ""
    framed = {"brand": NAME, "place": place, "admin": admin, "has_fonts": settings.ADMIN, **context}
    response = render(request, template, framed)
    response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    return response


def home(request: HttpRequest) -> HttpResponse:
    """Return the front page with a live check on the demo account. Works without a database."""
    base = request.build_absolute_uri("/").rstrip("/")
    try:
        live = live_check(request.GET.dict(), base)
    except DatabaseError:
        live = None
    response = page(request, "home.html", "home", live=live, story=story(base))
    response["Cache-Control"] = "no-store"  # shows a current decision
    return response


def docs(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Say how to build the documentation site. Once built, its files are served before this view runs."""
    if is_built():
        raise Http404
    if rest:
        return redirect("/docs/")
    return page(request, "docs.html", "docs", commands=COMMANDS)


def reference(request: HttpRequest) -> HttpResponse:
    """Return the browsable OpenAPI document."""
    return page(request, "reference.html", "reference")


def livez(request: HttpRequest) -> JsonResponse:
    """Report that the process answers. config.asgi serves both probes; these views are for other servers."""
    return JsonResponse(ALIVE)


def readyz(request: HttpRequest) -> JsonResponse:
    """Report whether the process can serve requests."""
    body, status = readiness()
    return JsonResponse(body, status=status)


def metrics(request: HttpRequest) -> HttpResponse:
    """Return Prometheus metrics, of all workers if there are several."""
    if not may_read_metrics(request):
        raise Http404
    everything = registry()
    everything.register(BuildInfo(VERSION))
    everything.register(table_sizes)
    return HttpResponse(generate_latest(everything), content_type=CONTENT_TYPE_LATEST)


def jwks(request: HttpRequest) -> JsonResponse:
    """Return the public keys of signed decisions and licence tokens, current after a rotation."""
    return JsonResponse(key_set(), content_type="application/jwk-set+json", headers={"Cache-Control": "max-age=60"})


def license_jwks(request: HttpRequest) -> JsonResponse:
    """Return the public keys of licence tokens only, at the address defined by the Open License Protocol."""
    keys = key_set(Algorithm.ES256)
    return JsonResponse(keys, content_type="application/jwk-set+json", headers={"Cache-Control": "max-age=60"})


def may_read_metrics(request: HttpRequest) -> bool:
    """Whether the client sent METRICS_TOKEN; if none is set, whether it is on this machine and not behind a proxy."""
    if settings.METRICS_TOKEN:
        sent = request.headers.get("Authorization", "")
        return constant_time_compare(sent, f"Bearer {settings.METRICS_TOKEN}")
    client = client_address_of(request)
    # A trusted proxy reports its client, whose address then counts.
    known = "X-Forwarded-For" in request.headers and TrustedProxies().include(request.META.get("REMOTE_ADDR", ""))
    forwarded = not known and any(name in request.headers for name in LEFT_BY_PROXIES)
    return client is not None and client.is_loopback and not forwarded


@cache
def openapi_document() -> dict[str, object]:
    """Return the document, built once per process because it depends only on code and settings."""
    document: dict[str, object] = SchemaGenerator().get_schema(request=None, public=True)
    return document


class OpenApiDocument(ApiViewSet):
    """The OpenAPI document. Needs no key; rate-limited by client address."""

    authentication_classes = ()
    permission_classes = ()
    tagged = frozenset()
    cache_control = "public, max-age=300"

    @extend_schema(exclude=True)
    def retrieve(self, request: Request) -> Response:
        return Response(openapi_document())
