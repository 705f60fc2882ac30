"""/v1/accounts/me: the account of the key that asks, what its plan has left, and the key itself."""

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.models import ApiKey, KeyType
from accounts.limits.plan_usage import Used, plan_use
from accounts.limits.windows import DAY, MINUTE
from accounts.plans.models import Account, Plan
from accounts.viewsets import AccountViewSet
from kit.rest.fields import Choice, Id, Integer, Timestamp
from kit.values.timestamps import render_timestamp


class WindowSerializer(serializers.Serializer):
    """One of the two windows of the plan: the UTC minute or the UTC day."""

    limit = Integer(help_text="Requests that it has.")
    used = Integer(help_text="Requests that all keys of the account have made in it, this one among them.")
    remaining = Integer()
    reset = Integer(help_text="When it ends, in Unix seconds.")


class LimitsSerializer(serializers.Serializer):
    """What the plan has, and what is used of it."""

    minute = WindowSerializer()
    day = WindowSerializer()


class OwnKeySerializer(serializers.Serializer):
    """The key that asks."""

    id = Id("key")
    name = serializers.CharField()
    type = Choice(choices=KeyType.choices)
    permissions = serializers.ListField(child=serializers.CharField())
    expiresAt = Timestamp(allow_null=True)


class OwnAccountSerializer(serializers.Serializer):
    """The account of the key that asks."""

    id = Id("acc")
    object = Choice(choices=["account"])
    name = serializers.CharField()
    plan = Choice(choices=Plan.choices, help_text="What the limits come from.")
    limits = LimitsSerializer()
    key = OwnKeySerializer()
    created = Timestamp()


def window(used: Used, seconds: int, now: int) -> dict[str, int]:
    return {
        "limit": used.limit,
        "used": used.count,
        "remaining": max(used.limit - used.count, 0),
        "reset": (now // seconds + 1) * seconds,
    }


def told(account: Account, key: ApiKey) -> dict[str, Any]:
    use, now = plan_use([account])[account.pk], int(timezone.now().timestamp())
    return {
        "id": account.pk,
        "object": "account",
        "name": account.name,
        "plan": account.plan,
        "limits": {"minute": window(use.minute, MINUTE, now), "day": window(use.day, DAY, now)},
        "key": {
            "id": key.pk,
            "name": key.name,
            "type": key.type,
            "permissions": key.permissions,
            "expiresAt": render_timestamp(key.expires_at),
        },
        "created": render_timestamp(account.created),
    }


class OwnAccountViewSet(AccountViewSet):
    permissions_required = {"me": ()}
    serializer_class = OwnAccountSerializer
    queryset = ApiKey.objects.select_related("account")

    @extend_schema(summary="Get the account of the key")
    @action(detail=False)
    def me(self, request: Request) -> HttpResponse:
        """Plan, limits and what is used of them, and what the key itself may do. Any key may ask."""
        key = self.get_queryset().get(pk=self.grant.key_id)
        return Response(told(key.account, key))
