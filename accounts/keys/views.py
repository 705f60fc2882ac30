"""/v1/api-keys."""

from typing import NotRequired, TypedDict

import orjson
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys import services
from accounts.keys.bounds import Bounds, RateLimit
from accounts.keys.bulk import KeyBulk
from accounts.keys.models import ApiKey
from accounts.keys.serializers import (
    ApiKeyBulkOutcomeSerializer,
    ApiKeyBulkSerializer,
    ApiKeyChangeSerializer,
    ApiKeySerializer,
    CreatedApiKeySerializer,
    KeyTextSerializer,
    RotationSerializer,
)
from accounts.viewsets import AccountViewSet, ReadingViewSet
from kit.http.errors import NotFound
from kit.rest.bulk import bulk_response, outcomes_serializer
from kit.rest.lists.orders import Order
from kit.rest.pagination import KeysetPagination
from kit.values import ids
from kit.values.json_values import Rendered
from kit.values.timestamps import parse_timestamp


class NewestKeysFirst(KeysetPagination):
    orders = {"created": Order("created_at")}


class ApiKeyViewSet(AccountViewSet[ApiKey]):
    permissions_required = dict.fromkeys(
        ("list", "retrieve", "create", "partial_update", "destroy", "rotate", "bulk"), "api_keys:manage"
    )
    exportable = {"list": "api-keys"}
    tagged = AccountViewSet.tagged | {"destroy", "rotate"}
    cache_control = "no-store"  # first replies and replays may contain a key's text
    may_be_compressed = False
    serializer_class = ApiKeySerializer
    pagination_class = NewestKeysFirst
    queryset = ApiKey.objects.all()

    def lock_first(self) -> None:
        """Lock both keys in order of their ids, so that two keys that change each other do not deadlock."""
        if ids.decode("key", self.kwargs["id"]) is not None:
            services.lock_keys(self.kwargs["id"], self.grant.key_id)

    def was_shown(self, resource: ApiKey, value: object) -> bool:
        rows = ApiKey.objects.filter(pk=resource.pk)
        return isinstance(value, str) and services.find_key(rows, value) is not None

    def check_replay(self, reply: bytes) -> None:
        body = orjson.loads(reply)
        if "key" in body:
            created_keys = [body]
        else:
            created_keys = [outcome["apiKey"] for outcome in body["data"] if outcome["status"] == 201]
        services.check_may_see_keys(self.grant, [parse_stored_key(key) for key in created_keys])

    @extend_schema(summary="List API keys", responses=ApiKeySerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Every key of the account, including revoked and expired ones, without their text."""
        return self.page()

    @extend_schema(summary="Create an API key", responses={201: CreatedApiKeySerializer})
    def create(self, request: Request) -> HttpResponse:
        """The reply holds the full key in `key`. Keep it: it cannot be shown again.

        A secret key has every permission by default. A public key reads content and policies by default: whoever has
        it, such as every visitor of a web page, can read every item with its figures, and every policy with the ids
        and addresses of customers in its rules. Give it `["content:read"]` if pages need no more. A key cannot grant a
        permission that it lacks, outlive itself, or allow addresses or hosts outside its own lists, or more requests
        than its own `rateLimit`. Without `expiresAt`, `allowedIps`, `allowedHosts` or `rateLimit` the new key has
        those of the key that creates it.
        """
        key, text = services.create_api_key(self.account_id, **self.validated(), granted_by=self.grant)
        return self.answer(key, 201, once={"key": text})

    @extend_schema(
        summary="Create and change API keys in bulk",
        request=ApiKeyBulkSerializer,
        responses=outcomes_serializer("ApiKeyBulkOutcomes", ApiKeyBulkOutcomeSerializer(many=True)),
    )
    @action(detail=False, methods=["post"])
    def bulk(self, request: Request) -> Response:
        """Creates or changes 1 to 1,000 keys. Each row succeeds or fails on its own.

        A row with `id` changes that key, as PATCH does. Any other row creates a key, whose full text is in `key` of
        its outcome. Keep it: it cannot be shown again. Send an `Idempotency-Key`, because repeating the rows without
        one creates more keys. The limits of creation and change apply to each row. Outcomes are in the order of the
        rows. All rows are one transaction and count as one request.
        """
        bulk = KeyBulk(self.account_id, KeyBulk.read(self.validated(ApiKeyBulkSerializer)["items"]), self.grant)
        outcomes = bulk.run()
        serializer = ApiKeySerializer()

        def show(key: ApiKey) -> Rendered:
            rendered = serializer.to_representation(key)
            if key.pk in bulk.texts:
                rendered["key"] = bulk.texts[key.pk]
            return rendered

        return bulk_response(outcomes, "apiKey", show)

    @extend_schema(summary="Get an API key")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        return self.answer(self.get_object())

    @extend_schema(summary="Change an API key", request=ApiKeyChangeSerializer)
    def partial_update(self, request: Request, id: str) -> HttpResponse:
        """Changes name, addresses, hosts, rate limit and expiry, effective with the next request.

        As on creation, a key cannot set an expiry, addresses, hosts or a rate limit beyond its own, or widen a key
        that it could not create. A revoked key cannot be changed (409).
        """
        key = self.get_object_to_change()
        fields = self.validated_change(key, ApiKeyChangeSerializer)
        return self.answer(services.update_api_key(key, fields, changed_by=self.grant))

    @extend_schema(summary="Revoke an API key", responses=ApiKeySerializer)
    def destroy(self, request: Request, id: str) -> HttpResponse:
        """The key is refused everywhere from the moment of the reply. Revoking it again changes nothing."""
        return self.answer(services.revoke_api_key(self.get_object_to_change()))

    @extend_schema(summary="Rotate an API key", request=RotationSerializer, responses={201: CreatedApiKeySerializer})
    @action(detail=True, methods=["post"])
    def rotate(self, request: Request, id: str) -> HttpResponse:
        """Creates a key with the same name, permissions, addresses, hosts, rate limit and expiry.

        The old key ends after `overlapSeconds`. If a proxy uses it, enter the new one in the proxy's file before.
        """
        options = self.validated(RotationSerializer)
        key, text = services.rotate_api_key(self.get_object(), **options, granted_by=self.grant)
        return self.answer(key, 201, once={"key": text})


class ApiKeySearchViewSet(ReadingViewSet[ApiKey]):
    """A POST that only reads, so that the key's text is not in the URL."""

    permissions_required = {"find_by_text": "api_keys:manage"}
    tagged = frozenset({"find_by_text"})
    cache_control = "no-store"
    serializer_class = ApiKeySerializer
    queryset = ApiKey.objects.all()

    @extend_schema(summary="Find an API key by its full text", request=KeyTextSerializer, responses=ApiKeySerializer)
    @action(detail=False, methods=["post"], url_path="find")
    def find_by_text(self, request: Request) -> HttpResponse:
        """Identifies a leaked key, and whether it still works, was revoked or has expired.

        404 if no key of the account has this text. The text is neither stored nor logged.
        """
        key = services.find_key(self.get_queryset(), self.validated(KeyTextSerializer)["key"])
        if key is None:
            raise NotFound("There is no API key with this text.")
        return self.answer(key)


class KeptKey(TypedDict):
    """The fields of a key in a stored reply."""

    id: str
    permissions: list[str]
    allowedIps: list[str]
    allowedHosts: NotRequired[list[str]]  # absent in replies stored by older versions
    rateLimit: NotRequired[RateLimit | None]  # likewise
    expiresAt: str | None


def parse_stored_key(body: KeptKey) -> services.IssuedKey:
    end = body["expiresAt"]
    bounds: Bounds = {
        "allowed_ips": body["allowedIps"],
        "allowed_hosts": body.get("allowedHosts", []),
        "rate_limit": body.get("rateLimit"),
        "expires_at": None if end is None else parse_timestamp(end),
    }
    return services.IssuedKey(body["id"], body["permissions"], bounds)
