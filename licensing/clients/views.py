"""Endpoints under /v1/license-clients."""

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from accounts.plans import epochs
from accounts.viewsets import AccountViewSet
from kit.rest.filters import ORDER, Operand, OperatorFilterSet, identifier, text, timestamp
from licensing.clients import services
from licensing.clients.models import LicenseClient
from licensing.clients.serializers import (
    LicenseClientSerializer,
    LicenseClientWithSecretSerializer,
    SecretRotationSerializer,
)


class LicenseClientFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("cli")),
        "requesterId": Operand(text, "requester__requester_id"),
        "name": Operand(text),
        "revokedAt": Operand(timestamp, "revoked_at", ORDER, optional=True),
        "created": Operand(timestamp, operators=ORDER),
    }


class LicenseClientViewSet(AccountViewSet):
    permissions_required = {
        "list": "licenses:read",
        "retrieve": "licenses:read",
        "create": "licenses:write",
        "destroy": "licenses:write",
        "rotate": "licenses:write",
    }
    tagged = AccountViewSet.tagged | {"destroy", "rotate"}
    cache_control = "no-store"  # the reply, or its idempotent replay, may contain a secret
    may_be_compressed = False
    serializer_class = LicenseClientSerializer
    filterset_class = LicenseClientFilters
    queryset = LicenseClient.objects.select_related("requester")

    def lock_first(self) -> None:
        epochs.lock_epoch(self.account_id)

    @extend_schema(summary="List licence clients", responses=LicenseClientSerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Newest first, including revoked clients. Secrets are never listed."""
        return self.page()

    @extend_schema(summary="Create a licence client", responses={201: LicenseClientWithSecretSerializer})
    def create(self, request: Request) -> HttpResponse:
        """Creates credentials with which a requester obtains licence tokens at `/olp/token`.

        The reply contains the `secret`. Store it: it cannot be shown again.
        """
        fields = self.validated()
        fields.setdefault("name", fields["requester_id"])
        client, secret = services.create_client(self.account_id, fields)
        return self.answer(client, 201, once={"secret": secret})

    @extend_schema(summary="Get a licence client")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        return self.answer(self.get_object())

    @extend_schema(summary="Revoke a licence client", responses=LicenseClientSerializer)
    def destroy(self, request: Request, id: str) -> HttpResponse:
        """Revokes the client. It gets no more tokens, and its existing tokens are refused immediately."""
        return self.answer(services.revoke_client(self.get_object_to_change()))

    @extend_schema(
        summary="Rotate a licence client's secret",
        request=SecretRotationSerializer,
        responses=LicenseClientWithSecretSerializer,
    )
    @action(detail=True, methods=["post"])
    def rotate(self, request: Request, id: str) -> HttpResponse:
        """Creates a new secret for the same client_id.

        The old one expires after `overlapSeconds`; tokens stay valid.
        """
        overlap = self.validated(SecretRotationSerializer).get("overlap_seconds", 0)
        client, secret = services.rotate_secret(self.get_object(), overlap)
        return self.answer(client, once={"secret": secret})
