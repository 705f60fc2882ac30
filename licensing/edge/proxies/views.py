"""Endpoint /v1/sites/{id}/proxy-config."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.viewsets import AccountViewSet
from kit.http.errors import InvalidRequest
from licensing.edge.proxies.files import KINDS, proxy_file
from licensing.edge.proxies.serializers import ProxyConfigSerializer, rendered_file
from licensing.sites.models import Site

PROXIES = list(KINDS)


class ProxyConfigViewSet(AccountViewSet[Site]):
    permissions_required = {"proxy_config": "content:read"}
    query_parameters = frozenset({"for"})
    queryset = Site.objects.prefetch_related("rules")

    @extend_schema(
        summary="Get the file for a site's proxy",
        parameters=[OpenApiParameter("for", str, required=True, enum=PROXIES, description="The proxy.")],
        responses=ProxyConfigSerializer,
        filters=False,
    )
    @action(detail=True, methods=["get"], url_path="proxy-config")
    def proxy_config(self, request: Request, id: str) -> Response:
        """Returns the configuration of a proxy for the site, made from the files in `deploy/edge/`.

        Put in the addresses of the service and your origin, and the key. While the service or its database is down,
        pages stay open that people may read without a licence; on a site that observes, all pages do. Get the file
        again when you enforce, when other pages are to stay open, and before you restrict one of them.
        """
        site = self.get_object()
        proxy = request.query_params.get("for", "")
        if proxy not in KINDS:
            raise InvalidRequest(f"for must be one of: {', '.join(KINDS)}", param="for")
        return Response(rendered_file(site.pk, proxy_file(site, proxy)))
