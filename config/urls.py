"""All URLs. Everything under /v1 answers in JSON, including 404."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from config import pages
from config.monitoring import metrics_page
from kit.http.error_pages import unknown_path

urlpatterns = [
    path("v1/", include("licensing.urls")),  # the most frequent routes come first
    path("v1/", include("accounts.urls")),
    path("v1/", include("analytics.urls")),
    path("v1/openapi.json", pages.OpenApiDocument.as_view({"get": "retrieve"})),
    re_path(r"^v1(?P<rest>/.*)?$", unknown_path),
    path("", pages.home),
    path("docs", RedirectView.as_view(url="/docs/")),
    path("docs/", pages.docs),
    path("docs/api", RedirectView.as_view(url="/docs/api/")),
    path("docs/api/", pages.reference),
    path("docs/<path:rest>", pages.docs),
    path("livez", pages.livez),
    path("readyz", pages.readyz),
    path("metrics", metrics_page.metrics),
    path(".well-known/jwks.json", pages.jwks),
    path(".well-known/jwks.json/platform", pages.license_jwks),
    path("olp/jwks.json", pages.license_jwks),
    path("olp/", include("licensing.license_server.urls")),
    path("portal/", include("licensing.portal.urls")),
]

handler400 = "config.error_pages.bad_request"
handler404 = "config.error_pages.not_found"
handler500 = "config.error_pages.failed"

if settings.ADMIN:
    urlpatterns += [path("admin", RedirectView.as_view(url="/admin/")), path("admin/", admin.site.urls)]
    handler403 = "operators.error_pages.forbidden"
