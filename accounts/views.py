"""/v1/api-keys: create, list, revoke and rotate keys (contract §4)."""

from typing import Any

import orjson
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import services
from accounts.api_view import AccountListView, AccountView
from accounts.models import ApiKey
from accounts.serializers import ApiKeySerializer, CreatedApiKeySerializer, RotationSerializer
from kit.rest.pagination import KeysetPagination
from kit.rest.resources import find
from kit.values.timestamps import parse_timestamp


class NewestKeysFirst(KeysetPagination):
    created_field = "created_at"


class ApiKeyView(AccountView):
    serializer_class: Any = ApiKeySerializer
    queryset = ApiKey.objects.none()

    def owned(self) -> QuerySet[ApiKey]:
        return ApiKey.objects.filter(account_id=self.account_id)

    def created(self, made: tuple[ApiKey, str]) -> Response:
        key, text = made
        return Response(CreatedApiKeySerializer(key, context={"key_text": text}).data, status=201)

    def check_replay(self, reply: bytes) -> None:
        made = orjson.loads(reply)
        end = made["expiresAt"]
        bounds: services.Bounds = {
            "allowed_ips": made["allowedIps"],
            "expires_at": None if end is None else parse_timestamp(end),
        }
        services.check_may_be_told(self.grant, made["id"], made["permissions"], bounds)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """No cache may keep a reply that can hold a key's text, be it the first or a replay."""
        finalized = super().finalize_response(request, response, *args, **kwargs)
        finalized.headers["Cache-Control"] = "no-store"
        return finalized


class ApiKeys(ApiKeyView, AccountListView):
    permissions_required = {"GET": "api_keys:manage", "POST": "api_keys:manage"}
    pagination_class = NewestKeysFirst

    @extend_schema(summary="List API keys", responses=ApiKeySerializer(many=True))
    def get(self, request: Request) -> Response:
        """Every key of the account, revoked and expired ones too. Never their text."""
        return self.list()

    @extend_schema(summary="Create an API key", responses={201: CreatedApiKeySerializer})
    def post(self, request: Request) -> Response:
        """The reply holds the full key in `key`: keep it, for it cannot be shown again.

        A secret key has every permission by default, a public key reads content and policies. No key can grant a
        permission that it lacks itself, outlive itself, or open addresses outside its own allowlist; without
        `expiresAt` or `allowedIps` the new key has those of the key that creates it.
        """
        return self.created(services.create_api_key(self.account_id, **self.validated(), granted_by=self.grant))


class ApiKeyById(ApiKeyView):
    permissions_required = {"GET": "api_keys:manage", "DELETE": "api_keys:manage"}

    @extend_schema(summary="Get an API key")
    def get(self, request: Request, id: str) -> Response:  # noqa: A002
        return Response(ApiKeySerializer(find(self.owned(), id)).data)

    @extend_schema(summary="Revoke an API key", responses=ApiKeySerializer)
    def delete(self, request: Request, id: str) -> Response:  # noqa: A002
        """From the moment of the reply the key is refused everywhere. Revoking it again changes nothing."""
        key = services.revoke_api_key(find(self.owned(), id))
        return Response(ApiKeySerializer(key).data)


class ApiKeyRotation(ApiKeyView):
    permissions_required = {"POST": "api_keys:manage"}
    serializer_class = RotationSerializer

    @extend_schema(summary="Rotate an API key", responses={201: CreatedApiKeySerializer})
    def post(self, request: Request, id: str) -> Response:  # noqa: A002
        """A new key with the same name, permissions, addresses and expiry; the old one ends after `overlapSeconds`."""
        old = find(self.owned(), id)
        options: dict[str, Any] = self.validated()
        return self.created(services.rotate_api_key(old, **options, granted_by=self.grant))
