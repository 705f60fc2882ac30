"""Pages beside the API: front page, reference, probes, public keys."""

import re
from functools import cache
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from markdown_it import MarkdownIt
from rest_framework.request import Request
from rest_framework.response import Response

from config.admin_settings import NAME
from config.documentation.build import COMMANDS
from config.documentation.serving import is_built
from config.live_check import run_live_check
from config.monitoring.probes import ALIVE, readiness
from kit.http.content_security import content_security_policy
from kit.rest.views import ApiViewSet
from licensing.access.tokens.models import Algorithm
from licensing.access.tokens.signing import key_set

CONTENT_SECURITY_POLICY = content_security_policy()
STORY = "## The story in thirteen lines\n"
README_BASE = "http://127.0.0.1:8000"  # the service's URL in the README


def render_page(request: HttpRequest, template: str, section: str, **context: object) -> HttpResponse:
    """Render a page beside the API; `section` is its entry in the navigation bar.

    It links to the admin only if that is served at the same address.
    """
    admin = "/admin/" if settings.ADMIN and not (settings.ADMIN_HOST or settings.ADMIN_PORT) else ""
    framed = {"brand": NAME, "place": section, "admin": admin, "has_fonts": settings.ADMIN, **context}
    response = render(request, template, framed)
    response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    return response


def home(request: HttpRequest) -> HttpResponse:
    """Return the front page with a live check on the demo account. Works without a database."""
    base = request.build_absolute_uri("/").rstrip("/")
    try:
        check_form = run_live_check(request.GET.dict(), base)
    except DatabaseError:
        check_form = None
    response = render_page(request, "home.html", "home", live=check_form, story=story(base))
    response["Cache-Control"] = "no-store"  # shows a current decision
    return response


def docs(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Say how to build the documentation site. Once built, its files are served before this view runs."""
    if is_built():
        raise Http404
    if rest:
        return redirect("/docs/")
    return render_page(request, "docs.html", "docs", commands=COMMANDS)


def reference(request: HttpRequest) -> HttpResponse:
    """Return the browsable OpenAPI document."""
    return render_page(request, "reference.html", "reference")


def livez(request: HttpRequest) -> JsonResponse:
    """Report that the process answers. config.asgi serves both probes; these views are for other servers."""
    return JsonResponse(ALIVE)


def readyz(request: HttpRequest) -> JsonResponse:
    """Report whether the process can serve requests."""
    body, status = readiness()
    return JsonResponse(body, status=status)


def jwks(request: HttpRequest) -> JsonResponse:
    """Return the public keys of signed decisions and licence tokens, current after a rotation."""
    return JsonResponse(key_set(), content_type="application/jwk-set+json", headers={"Cache-Control": "max-age=60"})


def license_jwks(request: HttpRequest) -> JsonResponse:
    """Return the public keys of licence tokens only, at the address defined by the Open License Protocol."""
    keys = key_set(Algorithm.ES256)
    return JsonResponse(keys, content_type="application/jwk-set+json", headers={"Cache-Control": "max-age=60"})


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


# --- The README's story on the front page ---------------------------------------------------------------------------


def story(base: str) -> SafeString:
    """Return the README's story as HTML, for a service at the URL `base`."""
    return mark_safe(readme_story().replace(README_BASE, escape(base)))  # noqa: S308 - the project's own text


@cache
def readme_story() -> str:
    _, _, story = Path(settings.BASE_DIR, "README.md").read_text().partition(STORY)
    return render_markdown(story.partition("\n## ")[0])


def render_markdown(text: str) -> str:
    """Render trusted Markdown of the project itself. Scrolling parts can be reached by keyboard."""
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    return re.sub(r"<(pre|table)>", r'<\1 tabindex="0">', html)
