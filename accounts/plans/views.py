"""/v1/accounts/me: the requesting key, its account, and what is left of the plan."""

from collections.abc import Mapping

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.models import ApiKey, KeyType
from accounts.limits.windows import DAY, MINUTE
from accounts.plans.models import Account, Plan, Unknown, UnlistedSigners, VisitorAddresses
from accounts.plans.services import update_account
from accounts.plans.usage import WindowUse, plan_use
from accounts.viewsets import AccountViewSet
from kit.rest.fields import Choice, Id, Integer, Timestamp, TimeZone
from kit.rest.money import Currency
from kit.rest.resources import pick_fields
from kit.rest.serializers import StrictSerializer
from kit.values.timestamps import render_timestamp

UNKNOWN_HOST = (
    "Whether the edge lets visitors in at hosts that the account has no site for. Visits that it lets in are recorded "
    "as observed."
)
UNLISTED_SIGNERS = (
    "Whether signers (Web Bot Auth) that the table of crawlers does not list can pay prices at the edge. "
    "`deny`: only with a valid licence or a wallet."
)
VISITOR_ADDRESSES = (
    "How addresses of people at the edge are stored: `truncated` to /24 (IPv6: /48), or `full`. Those of crawlers are "
    "always stored in full."
)
TIME_ZONE = "IANA name. Months of refills begin by its clock."
CURRENCY = "ISO 4217. The account's own currency."


class WindowSerializer(serializers.Serializer):
    """A window of the plan: the UTC minute or day."""

    limit = Integer(help_text="Requests included in the plan.")
    used = Integer(help_text="Requests with all secret keys of the account in this window, including this one.")
    remaining = Integer()
    reset = Integer(help_text="End of the window, in Unix seconds.")


class LimitsSerializer(serializers.Serializer):
    """The plan's limits and their use."""

    minute = WindowSerializer()
    day = WindowSerializer()


class EdgeWindowSerializer(serializers.Serializer):
    """One window of the edge quota. Requests over the quota are still answered."""

    limit = Integer(help_text="Proxy requests included in the plan.")
    used = Integer(help_text="Proxy requests in this window. Can exceed `limit`.")
    remaining = Integer(help_text="0 once `used` reaches `limit`.")
    reset = Integer(help_text="End of the window, in Unix seconds.")


class EdgeLimitsSerializer(serializers.Serializer):
    """The plan's quota of proxy requests, and its use. Requests over the quota are still answered."""

    minute = EdgeWindowSerializer()
    day = EdgeWindowSerializer()


class OwnKeySerializer(serializers.Serializer):
    """The requesting key."""

    id = Id("key")
    name = serializers.CharField()
    type = Choice(choices=KeyType.choices)
    permissions = serializers.ListField(child=serializers.CharField())
    expiresAt = Timestamp(allow_null=True)


class AccountChangeSerializer(StrictSerializer):
    """The account fields that its keys can change."""

    unknownHost = Choice(
        choices=Unknown.choices,
        required=False,
        allow_null=True,
        source="unknown_host",
        help_text=f"{UNKNOWN_HOST} Null: `allow`.",
    )
    unlistedSigners = Choice(
        choices=UnlistedSigners.choices, required=False, source="unlisted_signers", help_text=UNLISTED_SIGNERS
    )
    visitorAddresses = Choice(
        choices=VisitorAddresses.choices, required=False, source="visitor_addresses", help_text=VISITOR_ADDRESSES
    )
    timeZone = TimeZone(required=False, source="time_zone", help_text=f"{TIME_ZONE} Null: UTC.")
    currency = Currency(required=False, help_text=CURRENCY)

    cleared = {"timeZone": "UTC"}
    never_null = frozenset({"currency"})

    def validate_unknownHost(self, value: str | None) -> str:  # noqa: N802 - DRF's name for the field's method
        return value or Unknown.ALLOW

    owned = frozenset({"id", "object", "name", "plan", "limits", "edgeLimits", "key", "created"})
    growing = frozenset({"limits", "edgeLimits"})


class OwnAccountSerializer(serializers.Serializer):
    """The account of the requesting key. Public keys do not see how much of the plan is used."""

    for_secret_keys = sometimes = frozenset({"limits", "edgeLimits"})

    id = Id("acc")
    object = Choice(choices=["account"])
    name = serializers.CharField()
    plan = Choice(choices=Plan.choices, help_text="The plan that sets the limits.")
    limits = LimitsSerializer()
    edgeLimits = EdgeLimitsSerializer()
    unknownHost = Choice(choices=Unknown.choices, help_text=UNKNOWN_HOST)
    unlistedSigners = Choice(choices=UnlistedSigners.choices, help_text=UNLISTED_SIGNERS)
    visitorAddresses = Choice(choices=VisitorAddresses.choices, help_text=VISITOR_ADDRESSES)
    timeZone = TimeZone(help_text=TIME_ZONE)
    currency = Currency(help_text=CURRENCY)
    key = OwnKeySerializer()
    created = Timestamp()


def render_window(use: WindowUse, seconds: int, now: int) -> dict[str, int]:
    return {
        "limit": use.limit,
        "used": use.count,
        "remaining": max(use.limit - use.count, 0),
        "reset": (now // seconds + 1) * seconds,
    }


def render_own_account(account: Account, key: ApiKey) -> dict[str, object]:
    use = plan_use([account])[account.pk]
    now = int(timezone.now().timestamp())
    return {
        "id": account.pk,
        "object": "account",
        "name": account.name,
        "plan": account.plan,
        "limits": {"minute": render_window(use.minute, MINUTE, now), "day": render_window(use.day, DAY, now)},
        "edgeLimits": {
            "minute": render_window(use.edge_minute, MINUTE, now),
            "day": render_window(use.edge_day, DAY, now),
        },
        "unknownHost": account.shown_unknown_host,
        "unlistedSigners": account.unlisted_signers,
        "visitorAddresses": account.visitor_addresses,
        "timeZone": account.time_zone,
        "currency": account.currency,
        "key": {
            "id": key.pk,
            "name": key.name,
            "type": key.type,
            "permissions": key.permissions,
            "expiresAt": render_timestamp(key.expires_at),
        },
        "created": render_timestamp(account.created),
    }


class OwnAccountViewSet(AccountViewSet[ApiKey]):
    permissions_required = {"retrieve": (), "partial_update": "content:write"}
    tagged = conditional = frozenset()  # usage changes with every request
    serializer_class = OwnAccountSerializer
    queryset = ApiKey.objects.select_related("account")

    def get_object(self) -> ApiKey:
        """Return the requesting key with its account."""
        return self.get_queryset().get(pk=self.grant.key_id)

    @extend_schema(summary="Get the account of the key")
    def retrieve(self, request: Request) -> HttpResponse:
        """Returns the plan with its limits and usage, and the permissions of the requesting key. Any key may ask;
        a public one gets no limits and usage.
        """
        key = self.get_object()
        return Response(pick_fields(render_own_account(key.account, key), self.fields_to_show()))

    def shown_now(self, resource: ApiKey) -> Mapping[str, object]:
        return render_own_account(resource.account, resource)

    @extend_schema(
        summary="Change the account of the key", request=AccountChangeSerializer, responses=OwnAccountSerializer
    )
    def partial_update(self, request: Request) -> HttpResponse:
        """Changes the account's settings, effective with the next request.

        Only operators can change name and plan.
        """
        key = self.get_object()
        key.account = update_account(key.account, self.validated_change(key, AccountChangeSerializer))
        return Response(render_own_account(key.account, key))
