"""/v1/sites."""

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.viewsets import AccountViewSet
from licensing.deletion import DeletedSerializer, deleted
from licensing.sites import services
from licensing.sites.filters import SiteFilters
from licensing.sites.models import Site
from licensing.sites.serializers import SiteSerializer


class SiteViewSet(AccountViewSet[Site]):
    permissions_required = {
        "list": "content:read",
        "retrieve": "content:read",
        "create": "content:write",
        "partial_update": "content:write",
        "destroy": "content:write",
    }
    exportable = {"list": "sites"}
    serializer_class = SiteSerializer
    filterset_class = SiteFilters
    queryset = Site.objects.prefetch_related("rules")

    @extend_schema(summary="List sites", responses=SiteSerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Newest first."""
        return self.page()

    @extend_schema(summary="Create a site", responses={201: SiteSerializer})
    def create(self, request: Request) -> HttpResponse:
        """From now on pages of the host are decided by it, in every process."""
        return self.answer(services.create_site(self.account_id, self.validated()), 201)

    @extend_schema(summary="Get a site")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        return self.answer(self.get_object())

    @extend_schema(summary="Update a site")
    def partial_update(self, request: Request, id: str) -> HttpResponse:
        """`rules`, where given, replace the whole list."""
        return self.answer(services.update_site(self.get_object_to_change(), self.validated(partial=True)))

    @extend_schema(summary="Delete a site", responses=DeletedSerializer)
    def destroy(self, request: Request, id: str) -> Response:
        """Its pages are those of a host without a site. Decisions on them stay."""
        site = self.get_object_to_change()
        services.delete_site(site)
        return deleted(site, "site")
