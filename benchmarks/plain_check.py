"""The access check as a project would write it in a day: a DRF view on the service's tables, without its promises.

The ORM reads key, item, policy and requester, Django's cache counts the plan limit, and the ORM inserts the decision.
It has no statistics, rule limits, stored licences or retries.
"""

import time
from typing import Any

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from accounts.keys import keytext
from accounts.models import ApiKey
from analytics.models import AccessEvent
from licensing.content.models import Content, Status
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import Decision, decide
from licensing.policies.facts import Facts, HeldLicense
from licensing.policies.rules import parse_rules
from licensing.requesters.models import Requester

WINDOWS = (60, 86_400)  # seconds


class KeyAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[None, ApiKey]:
        text = request.headers.get("Authorization", "").removeprefix("Bearer ")
        key = ApiKey.objects.select_related("account").filter(digest=keytext.digest(text)).first()
        now = timezone.now()
        if key is None or key.revoked_at or (key.expires_at and key.expires_at <= now):
            raise AuthenticationFailed("This API key is not valid.")
        return None, key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class MayCheck(BasePermission):
    def has_permission(self, request: Request, view: APIView) -> bool:
        return not {"*", "access:check"}.isdisjoint(request.auth.permissions)


class PlanThrottle(BaseThrottle):
    def allow_request(self, request: Request, view: APIView) -> bool:
        account, now = request.auth.account, int(time.time())
        counts = [count(f"plan:{account.pk}:{seconds}:{now // seconds}", seconds) for seconds in WINDOWS]
        return all(used <= limit for used, limit in zip(counts, account.limits, strict=True))


def count(key: str, seconds: int) -> int:
    try:
        return cache.incr(key)
    except ValueError:  # the window's first request
        cache.add(key, 0, timeout=2 * seconds)
        return cache.incr(key)


class RequesterSerializer(serializers.Serializer):
    id = serializers.CharField(max_length=255)
    name = serializers.CharField(max_length=255, required=False)
    licenseType = serializers.CharField(max_length=100, required=False)
    hasValidLicense = serializers.BooleanField(default=False)


class CheckSerializer(serializers.Serializer):
    contentId = serializers.CharField()
    requester = RequesterSerializer()
    permission = serializers.CharField(max_length=64, required=False)


class Check(APIView):
    authentication_classes = [KeyAuthentication]
    permission_classes = [MayCheck]
    throttle_classes = [PlanThrottle]

    def post(self, request: Request) -> Response:
        body = CheckSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        asked, told = body.validated_data, body.validated_data["requester"]
        account, now = request.auth.account, timezone.now()
        item = get_object_or_404(
            Content.objects.select_related("policy"), pk=asked["contentId"], account=account, deleted_at=None
        )
        decision = decided(item, told, asked.get("permission"), now)
        requester, _ = Requester.objects.get_or_create(
            account=account, requester_id=told["id"], defaults={"name": told.get("name")}
        )
        event = AccessEvent.objects.create(  # one statement, and so one transaction
            account=account,
            content=item,
            requester=requester,
            policy=item.policy,
            policy_version=item.policy.version if item.policy else None,
            allowed=decision.allowed,
            reason=decision.reason,
            rule_index=decision.rule.index if decision.rule else None,
            permission=asked.get("permission"),
            facts={"contentType": item.type, **{name: told[name] for name in told if name != "id"}},
            created=now,
        )
        return Response(shown(event, decision, requester))


def decided(item: Content, told: dict[str, Any], permission: str | None, now: Any) -> Decision:
    policy = None
    if item.policy is not None:
        rules = parse_rules(item.policy.rules)
        policy = CompiledPolicy.of(item.policy.pk, item.policy.version, item.policy.default_action, rules)
    kind, valid = told.get("licenseType"), told["hasValidLicense"]
    facts = Facts(
        now=now,
        requester_id=told["id"],
        license_types=(kind,) if kind else (),
        has_valid_license=valid,
        licenses=(HeldLicense(kind),) if kind or valid else (),
        permission=permission,
        content_type=item.type,
        tags=frozenset(item.tags),
        category=item.category,
        archived=item.status == Status.ARCHIVED,
    )
    return decide(policy, facts)


def shown(event: AccessEvent, decision: Decision, requester: Requester) -> dict[str, Any]:
    rule = decision.rule
    return {
        "object": "access_decision",
        "id": event.pk,
        "allowed": decision.allowed,
        "reason": decision.reason,
        "message": rule.message if rule else None,
        "contentId": event.content_id,
        "requester": {"id": requester.requester_id, "name": requester.name},
        "permissions": list(decision.permissions),
        "policyId": event.policy_id,
        "policyVersion": event.policy_version,
        "matchedRule": {"index": rule.index, "priority": rule.priority, "action": rule.action} if rule else None,
        "license": {"licenseType": decision.license.license_type} if decision.license else None,
        "created": event.created,
    }


def ready(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


urlpatterns = [path("v1/access/check", Check.as_view()), path("readyz", ready)]
