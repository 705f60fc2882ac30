"""Endpoints under /v1/sites."""

from collections.abc import Sequence

from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Unknown
from accounts.viewsets import AccountViewSet
from kit.rest.filters import ORDER, Operand, OperatorFilterSet, ParameterKind, choice, identifier, text, timestamp
from kit.rest.views import Handler
from kit.values import ids
from kit.values.hosts import parse_host
from licensing.deletion_replies import DeletedSerializer, deletion_response
from licensing.policies.modes import MODES, Mode
from licensing.sites import services
from licensing.sites.models import Site
from licensing.sites.other_hosts import recent_hosts
from licensing.sites.serializers import SiteSerializer
from licensing.sites.verification import Evidence, look_at_host


def read_host(value: str) -> str:
    """Return a host in normal form; no site has a host that is not valid."""
    try:
        return parse_host(value)
    except ValueError:
        return value


class SiteFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("site")),
        "host": Operand(ParameterKind(read_host, text.schema)),
        "mode": Operand(choice(MODES)),
        "unknown": Operand(choice(Unknown)),
        "verifiedAt": Operand(timestamp, "verified_at", operators=ORDER, optional=True),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER),
    }


class SiteViewSet(AccountViewSet[Site]):
    permissions_required = {
        "list": "content:read",
        "retrieve": "content:read",
        "create": "content:write",
        "partial_update": "content:write",
        "destroy": "content:write",
        "verify": "content:write",
    }
    heavy = frozenset({"verify"})  # waits for the host
    exportable = {"list": "sites"}
    serializer_class = SiteSerializer
    filterset_class = SiteFilters
    queryset = Site.objects.prefetch_related("rules", "aliases")
    evidence: Sequence[Evidence] = ()  # of the host to verify; empty if there is no such site

    @extend_schema(summary="List sites", responses=SiteSerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Newest first."""
        return self.page()

    @extend_schema(summary="Create a site", responses={201: SiteSerializer})
    def create(self, request: Request) -> HttpResponse:
        """Creates a site. It decides pages of its host at once, in every process."""
        return self.answer(services.create_site(self.account_id, self.validated()), 201)

    @extend_schema(summary="Get a site")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        return self.answer(self.get_object())

    @extend_schema(summary="Update a site")
    def partial_update(self, request: Request, id: str) -> HttpResponse:
        """Changes the given fields. `rules` and `aliases` replace the whole lists.

        The reply to a change to `enforce` names hosts without a site in `uncoveredHosts`. With `proxyFileChanged`, the
        file for the proxy is no longer the one that was last fetched: get it again.
        """
        site = self.get_object_to_change()
        fields = self.validated_change(site)
        enforces = fields.get("mode") == Mode.ENFORCE != site.mode
        changed = services.update_site(site, fields)
        once: dict[str, object] = {"uncoveredHosts": recent_hosts(self.account_id)} if enforces else {}
        return self.answer(changed, once=once)

    @extend_schema(summary="Verify a site's host", request=None, responses=SiteSerializer)
    @action(detail=True, methods=["post"])
    def verify(self, request: Request, id: str) -> HttpResponse:
        """Looks for the `record` of `verification` at the host: in the file at `url`, or in a TXT record of `dnsName`.

        Fails with 422 if neither has it. Keep the record published: if it is gone, another account that verifies the
        host takes over.
        """
        return self.answer(services.verify_site(self.get_object_to_change(), *self.evidence))

    def write(self, handler: Handler, request: Request, *args: object, **kwargs: object) -> HttpResponse:
        """Fetch the host's records before the transaction begins, because that may take seconds."""
        if self.action == "verify":
            if ids.decode("site", self.kwargs["id"]):
                sites = self.get_queryset()
            else:
                sites = Site.objects.none()
            self.evidence = [async_to_sync(look_at_host)(site.host) for site in sites.filter(pk=self.kwargs["id"])]
        return super().write(handler, request, *args, **kwargs)

    @extend_schema(summary="Delete a site", responses=DeletedSerializer)
    def destroy(self, request: Request, id: str) -> Response:
        """Deletes the site. Its host is then treated as a host without a site. Decisions about its pages stay."""
        site = self.get_object_to_change()
        services.delete_site(site)
        return deletion_response(site, "site")
