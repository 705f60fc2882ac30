"""/v1/api-keys and /v1/audit."""

import orjson
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request

from accounts import services
from accounts.filters import AuditFilters
from accounts.models import ApiKey, AuditEntry
from accounts.serializers import (
    ApiKeyChangeSerializer,
    ApiKeySerializer,
    AuditEntrySerializer,
    CreatedApiKeySerializer,
    RotationSerializer,
)
from accounts.viewsets import AccountViewSet
from kit.rest.pagination import KeysetPagination, Order
from kit.values import ids
from kit.values.timestamps import parse_timestamp


class NewestKeysFirst(KeysetPagination):
    orders = {"created": Order("created_at")}


class ApiKeyViewSet(AccountViewSet[ApiKey]):
    permissions_required = dict.fromkeys(
        ("list", "retrieve", "create", "partial_update", "destroy", "rotate"), "api_keys:manage"
    )
    tagged = AccountViewSet.tagged | {"destroy", "rotate"}
    cache_control = "no-store"  # the text of a key may be in the reply, be it the first or a replay
    may_be_compressed = False
    serializer_class = ApiKeySerializer
    pagination_class = NewestKeysFirst
    queryset = ApiKey.objects.all()

    def lock_first(self) -> None:
        """Both keys in the order of their ids: two that change each other must not wait for each other."""
        if ids.decode("key", self.kwargs["id"]) is not None:
            services.lock_keys(self.kwargs["id"], self.grant.key_id)

    def created(self, made: tuple[ApiKey, str]) -> HttpResponse:
        key, text = made
        return self.with_tag(ApiKeySerializer(key).data, 201, once={"key": text})

    def check_replay(self, reply: bytes) -> None:
        made = orjson.loads(reply)
        end = made["expiresAt"]
        bounds: services.Bounds = {
            "allowed_ips": made["allowedIps"],
            "expires_at": None if end is None else parse_timestamp(end),
        }
        services.check_may_be_told(self.grant, made["id"], made["permissions"], bounds)

    @extend_schema(summary="List API keys", responses=ApiKeySerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Every key of the account, revoked and expired ones too. Never their text."""
        return self.page()

    @extend_schema(summary="Create an API key", responses={201: CreatedApiKeySerializer})
    def create(self, request: Request) -> HttpResponse:
        """The reply holds the full key in `key`: keep it, for it cannot be shown again.

        A secret key has every permission by default. A public key reads content and policies by default: whoever has
        it, such as every visitor of a web page, reads every item with its figures, and every policy with the ids and
        addresses of customers in its rules. Give it `["content:read"]` where pages need no more. No key can grant a
        permission that it lacks itself, outlive itself, or open addresses outside its own allowlist; without
        `expiresAt` or `allowedIps` the new key has those of the key that creates it.
        """
        return self.created(services.create_api_key(self.account_id, **self.validated(), granted_by=self.grant))

    @extend_schema(summary="Get an API key")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        return self.answer(self.get_object())

    @extend_schema(summary="Change an API key", request=ApiKeyChangeSerializer)
    def partial_update(self, request: Request, id: str) -> HttpResponse:
        """Its name, addresses and expiry, which hold from the next request on.

        The bounds of creation hold: no key sets an end or addresses beyond its own, or widens a key that it could not
        create itself. A revoked key stays as it is: that is a 409.
        """
        key = self.get_object_to_change()
        fields = self.validated(ApiKeyChangeSerializer, partial=True)
        return self.answer(services.update_api_key(key, fields, changed_by=self.grant))

    @extend_schema(summary="Revoke an API key", responses=ApiKeySerializer)
    def destroy(self, request: Request, id: str) -> HttpResponse:
        """From the moment of the reply the key is refused everywhere. Revoking it again changes nothing."""
        return self.answer(services.revoke_api_key(self.get_object_to_change()))

    @extend_schema(summary="Rotate an API key", request=RotationSerializer, responses={201: CreatedApiKeySerializer})
    @action(detail=True, methods=["post"])
    def rotate(self, request: Request, id: str) -> HttpResponse:
        """A new key with the same name, permissions, addresses and expiry; the old one ends after `overlapSeconds`."""
        old = self.get_object()
        return self.created(services.rotate_api_key(old, **self.validated(RotationSerializer), granted_by=self.grant))


class AuditViewSet(AccountViewSet[AuditEntry]):
    """Who changed what, and when. Entries are read and nothing else."""

    permissions_required = {"list": "audit:read", "retrieve": "audit:read"}
    exportable = {"list": "audit"}
    serializer_class = AuditEntrySerializer
    filterset_class = AuditFilters
    queryset = AuditEntry.objects.all()

    @extend_schema(summary="List changes", responses=AuditEntrySerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Every change to the account and what it owns, newest first: by keys, operators, commands and the service."""
        return self.page()

    @extend_schema(summary="Get a change")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        return self.answer(self.get_object())
