"""The pages and probes beside the API: where a newcomer lands, and what an orchestrator asks."""

from typing import Any

from django.conf import settings
from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularJSONAPIView
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest, multiprocess
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.limits import limiter
from config.api.views import ApiView


def home(request: HttpRequest) -> HttpResponse:
    return render(request, "home.html")


def docs(request: HttpRequest) -> HttpResponse:
    return render(request, "docs.html")


def livez(request: HttpRequest) -> JsonResponse:
    """The process answers."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """The process can serve: 503 while the database does not answer. Without Redis it still serves."""
    checks: dict[str, Any] = {"database": "ok", "limits": limiter.state()}
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error as error:
        checks["database"] = type(error).__name__
    ready = checks["database"] == "ok"
    return JsonResponse({"status": "ok" if ready else "unavailable", "checks": checks}, status=200 if ready else 503)


def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus metrics, of all worker processes where there are several."""
    registry = REGISTRY
    if settings.PROMETHEUS_MULTIPROC_DIR:
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class OpenApiDocument(ApiView):
    """The OpenAPI document. Needs no key; counted by client address."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        view = SpectacularJSONAPIView()
        generator = view.generator_class(api_version="v1", patterns=view.patterns)
        return Response(generator.get_schema(request=None, public=True))
