"""POST /v1/requesters/{id}/portal-sessions."""

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from licensing.customers.routes import post_below_path
from licensing.customers.views import RequesterPathViewSet
from licensing.portal import services
from licensing.portal.serializers import SCOPES, STATEMENTS, PortalSessionSerializer


class PortalSessionViewSet(RequesterPathViewSet):
    permissions_required = {"create_session": "licenses:write"}
    for_secret_keys = frozenset({"create_session"})
    serializer_class = PortalSessionSerializer
    cache_control = "no-store"  # the reply, or its idempotent replay, contains the link
    may_be_compressed = False

    @extend_schema(
        summary="Create a portal session", request=PortalSessionSerializer, responses=PortalSessionSerializer
    )
    def create_session(self, request: Request, id: str) -> HttpResponse:
        """Return a link to pages on which the requester reads its licences, credit and statements.

        Send it to the requester, or redirect its browser to it. The link works once, within 15 minutes, and begins a
        session of 24 hours.
        """
        requester = self.get_object()
        fields = self.validated()
        scopes = list(dict.fromkeys(fields.get("scopes") or SCOPES))
        if STATEMENTS in scopes:
            self.grant.require("revenue:read")
        session, token = services.create_session(requester, scopes, fields.get("returnUrl"))
        base = settings.BASE_URL or f"{request.scheme}://{request.get_host()}"
        context = {"url": base + reverse("portal-link", args=[token])}
        return Response(PortalSessionSerializer(session, context=context).data)


portal_sessions_route = post_below_path(
    PortalSessionViewSet.as_view({"post": "create_session"}, detail=True), "portal-sessions"
)
