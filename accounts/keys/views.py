"""/v1/api-keys and /v1/audit."""

from typing import NotRequired, TypedDict

import orjson
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys import services
from accounts.keys.bounds import Bounds
from accounts.keys.bulk import KeyBulk, read_rows
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
from kit.rest.bulk import outcomes_serializer, told_outcomes
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
        told = orjson.loads(reply)
        made = [told] if "key" in told else [one["apiKey"] for one in told["data"] if one["status"] == 201]
        services.check_may_be_told(self.grant, [told_key(one) for one in made])

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
        permission that it lacks itself, outlive itself, or open addresses or hosts outside its own lists; without
        `expiresAt`, `allowedIps` or `allowedHosts` the new key has those of the key that creates it.
        """
        return self.created(services.create_api_key(self.account_id, **self.validated(), granted_by=self.grant))

    @extend_schema(
        summary="Create and change API keys in bulk",
        request=ApiKeyBulkSerializer,
        responses=outcomes_serializer("ApiKeyBulkOutcomes", ApiKeyBulkOutcomeSerializer(many=True)),
    )
    @action(detail=False, methods=["post"])
    def bulk(self, request: Request) -> Response:
        """1 to 1,000 rows, each by itself: what is wrong with one hinders no other.

        A row with `id` changes that key as PATCH does; any other creates one, whose full text is in `key` of its
        outcome: keep it, for it cannot be shown again. Send an `Idempotency-Key`: the same rows again without one
        create further keys. The bounds of creation and change hold for each row. The outcomes are in the order of the
        rows. All of them are one transaction and one request for the plan limit.
        """
        bulk = KeyBulk(self.account_id, read_rows(self.validated(ApiKeyBulkSerializer)["items"]), self.grant)
        outcomes, shown = bulk.run(), ApiKeySerializer()

        def show(key: ApiKey) -> Rendered:
            once = {"key": bulk.texts[key.pk]} if key.pk in bulk.texts else {}
            return {**shown.to_representation(key), **once}

        return told_outcomes(outcomes, "apiKey", show)

    @extend_schema(summary="Get an API key")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        return self.answer(self.get_object())

    @extend_schema(summary="Change an API key", request=ApiKeyChangeSerializer)
    def partial_update(self, request: Request, id: str) -> HttpResponse:
        """Its name, addresses, hosts and expiry, which hold from the next request on.

        The bounds of creation hold: no key sets an end, addresses or hosts beyond its own, or widens a key that it
        could not create itself. A revoked key stays as it is: that is a 409.
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
        """A new key with the same name, permissions, addresses, hosts and expiry; the old one ends after
        `overlapSeconds`."""
        old = self.get_object()
        return self.created(services.rotate_api_key(old, **self.validated(RotationSerializer), granted_by=self.grant))


class ApiKeySearchViewSet(ReadingViewSet[ApiKey]):
    """Beside ApiKeyViewSet: a POST that only reads, so that the text is in no address."""

    permissions_required = {"find_by_text": "api_keys:manage"}
    tagged = frozenset({"find_by_text"})
    cache_control = "no-store"
    serializer_class = ApiKeySerializer
    queryset = ApiKey.objects.all()

    @extend_schema(summary="Find an API key by its full text", request=KeyTextSerializer, responses=ApiKeySerializer)
    @action(detail=False, methods=["post"], url_path="find")
    def find_by_text(self, request: Request) -> HttpResponse:
        """Which key of the account leaked, whether it still works or was revoked or has expired.

        404 if no key of the account has this text. The text is neither stored nor logged.
        """
        key = services.find_key(self.get_queryset(), self.validated(KeyTextSerializer)["key"])
        if key is None:
            raise NotFound("There is no API key with this text.")
        return self.answer(key)


class KeptKey(TypedDict):
    """What is read of a key that a kept reply shows."""

    id: str
    permissions: list[str]
    allowedIps: list[str]
    allowedHosts: NotRequired[list[str]]  # absent where an older version kept the reply
    expiresAt: str | None


def told_key(shown: KeptKey) -> services.ToldKey:
    end = shown["expiresAt"]
    bounds: Bounds = {
        "allowed_ips": shown["allowedIps"],
        "allowed_hosts": shown.get("allowedHosts", []),
        "expires_at": None if end is None else parse_timestamp(end),
    }
    return services.ToldKey(shown["id"], shown["permissions"], bounds)
