"""Endpoint /v1/sites/{id}/proxy-config, and what a change of a site says about the file."""

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.viewsets import AccountViewSet
from kit.http.errors import InvalidRequest
from kit.rest.fields import Choice, Id
from kit.rest.views import Handler
from licensing.edge.proxies.downloads import note_download, outdated_downloads
from licensing.edge.proxies.files import PROXY_KINDS, proxy_file
from licensing.sites.models import Site
from licensing.sites.views import SiteViewSet


class OmittedPatternSerializer(serializers.Serializer):
    """A pattern that everybody may read, but that does not stay open."""

    pattern = serializers.CharField(help_text="The pattern as the site has it.")
    reason = serializers.CharField(help_text="Why its pages do not stay open.")


class ProxyConfigSerializer(serializers.Serializer):
    """The file for a site's proxy."""

    object = Choice(choices=["proxy_config"])
    siteId = Id("site", help_text="The site.")
    proxy = Choice(choices=list(PROXY_KINDS), help_text="The proxy that reads the file.")
    fileName = serializers.CharField(help_text="Usual name of the file.")
    content = serializers.CharField(help_text="The file, with a placeholder for the key.")
    openPatterns = serializers.ListField(
        child=serializers.CharField(),
        help_text="Patterns whose pages stay open while the service is down. `/*` includes pages without a pattern.",
    )
    omitted = OmittedPatternSerializer(many=True, help_text="Open patterns that do not stay open.")


class ProxyConfigViewSet(AccountViewSet[Site]):
    permissions_required = {"proxy_config": "content:read"}
    query_parameters = frozenset({"for"})
    queryset = Site.objects.prefetch_related("rules")

    @extend_schema(
        summary="Get the file for a site's proxy",
        parameters=[OpenApiParameter("for", str, required=True, enum=list(PROXY_KINDS), description="The proxy.")],
        responses=ProxyConfigSerializer,
        filters=False,
    )
    @action(detail=True, methods=["get"], url_path="proxy-config")
    def proxy_config(self, request: Request, id: str) -> Response:
        """Returns the configuration of a proxy for the site, made from the files in `deploy/edge/`.

        Put in the addresses of the service and your origin, and the key. While the service or its database is down,
        pages stay open that people may read without a licence; on a site that observes, all pages do. Get the file
        again when you enforce, and whenever other pages are to be open: proxies do not ask about people on open pages.
        The site remembers this download: its page in the admin says when the file has changed since.
        """
        site = self.get_object()
        proxy = request.query_params.get("for", "")
        if proxy not in PROXY_KINDS:
            raise InvalidRequest(f"for must be one of: {', '.join(PROXY_KINDS)}", param="for")
        file = proxy_file(site, proxy)
        if request.method == "GET":
            note_download(site, proxy, file.digest)
        return Response(
            {
                "object": "proxy_config",
                "siteId": site.pk,
                "proxy": proxy,
                "fileName": file.name,
                "content": file.content,
                "openPatterns": list(file.open_patterns),
                "omitted": [{"pattern": pattern, "reason": reason} for pattern, reason in file.omitted],
            }
        )


class ProxiedSiteViewSet(SiteViewSet):
    """Sites whose changes say that the proxy's file has to be fetched again."""

    def write(self, handler: Handler, request: Request, *args: object, **kwargs: object) -> HttpResponse:
        """Compare the file after the transaction, because that reads all items of the site."""
        response = super().write(handler, request, *args, **kwargs)
        if self.action == "partial_update" and isinstance(response, Response):
            site = self.get_queryset().filter(pk=response.data["id"]).first()
            if site is not None and outdated_downloads(site):
                response.data["proxyFileChanged"] = True
        return response
