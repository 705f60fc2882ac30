"""Access checks and decisions on the wire (contract §10)."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.api.errors import ApiError
from config.api.fields import Boolean, Choice, Id, Parsed, StrictSerializer, Text, Timestamp, Url
from config.api.timestamps import render_timestamp
from licensing import schemas
from licensing.checks import SELECTORS, Answer
from licensing.decisions import Reason, trace
from licensing.facts import parse_ip
from licensing.rules import ACTIONS, IS_PERMISSION, PERIODS


class RequesterBody(StrictSerializer):
    id = Text(max_length=255)
    name = Text(max_length=255, required=False, allow_null=True)
    licenseType = Text(max_length=100, required=False, allow_null=True)
    hasValidLicense = Boolean(required=False, allow_null=True)


@extend_schema_field(schemas.REQUESTER)
class RequesterField(serializers.Field):
    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, str | dict):
            raise serializers.ValidationError("Must be an object with an id, or that id as a string.")
        body = RequesterBody(data={"id": data} if isinstance(data, str) else data)
        if not body.is_valid():
            # A bare string is its own id: there is no path below it.
            raise serializers.ValidationError(body.errors["id"] if isinstance(data, str) else body.errors)
        return body.validated_data


class ContextBody(StrictSerializer):
    ip = Parsed(parse_ip, required=False, allow_null=True, help_text="The requester's address.")
    userAgent = Text(max_length=1000, required=False, allow_null=True, allow_blank=True)


def parse_permission(text: str) -> str:
    if not IS_PERMISSION(text):
        raise ValueError("Must be a permission: a lower-case letter, then up to 63 of a-z, 0-9, '_', ':', '.' and '-'.")
    return text


@extend_schema_field({**schemas.PERMISSION, "nullable": True})
class PermissionField(Parsed):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(parse_permission, **kwargs)


class CheckFields(StrictSerializer):
    contentId = Text(required=False, allow_null=True, max_length=100, help_text="The item by its id,")
    externalId = Text(required=False, allow_null=True, max_length=255, help_text="by the publisher's own id,")
    source = Url(required=False, allow_null=True, help_text="or by its URL.")
    requester = RequesterField(required=False)
    permission = PermissionField(required=False, allow_null=True, help_text="What the requester wants to do.")
    context = ContextBody(required=False, allow_null=True)
    dryRun = Boolean(required=False, help_text="Decide, and record and count nothing.")
    explain = Boolean(required=False, help_text="Add the `trace` of the rules.")


def complete(check: dict[str, Any], path: str = "") -> dict[str, Any]:
    """The check, if it names one item and one requester. Raises ValidationError."""
    named = [name for name in SELECTORS if check.get(name) is not None]
    if len(named) != 1:
        at = f"{path}{named[1] if named else SELECTORS[0]}"
        raise serializers.ValidationError({at: [f"Give exactly one of {', '.join(SELECTORS)}."]})
    if "requester" not in check:
        raise serializers.ValidationError({f"{path}requester": ["This field is required."]})
    return check


class CheckSerializer(CheckFields):
    """May this requester have this item?"""

    schema_extra = {
        "required": ["requester"],
        "oneOf": [{"required": [name], "properties": {name: {"nullable": False}}} for name in SELECTORS],
    }

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return complete(attrs)


class BatchItem(CheckFields):
    correlationId = Text(max_length=255, required=False, allow_null=True, help_text="Comes back with the decision.")


class BatchSerializer(CheckFields):
    """Up to 100 checks; the other fields are defaults for those that do not give their own."""

    checks = serializers.ListField(child=BatchItem(), min_length=1, max_length=100)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        defaults = dict(attrs)
        checks = defaults.pop("checks")
        merged = []
        for index, check in enumerate(checks):
            own = {name: value for name, value in check.items() if value is not None}
            inherited = dict(defaults)
            if any(name in own for name in SELECTORS):
                inherited = {name: value for name, value in defaults.items() if name not in SELECTORS}
            merged.append(complete(inherited | own, f"checks[{index}]."))
        return {"checks": merged}


# --- Decisions -------------------------------------------------------------------------------------------------------


class MatchedRule(serializers.Serializer):
    index = serializers.IntegerField(min_value=0, help_text="In the policy's list, counted from 0.")
    priority = serializers.IntegerField(allow_null=True)
    action = Choice(choices=ACTIONS)


class LicenseBehind(serializers.Serializer):
    id = Id("lic", allow_null=True)
    licenseType = serializers.CharField(allow_null=True)
    expiresAt = Timestamp(allow_null=True)
    source = Choice(choices=["service", "caller"])


class RuleRateLimit(serializers.Serializer):
    requests = serializers.IntegerField()
    period = Choice(choices=PERIODS)
    remaining = serializers.IntegerField()
    reset = serializers.IntegerField(help_text="Unix seconds.")
    retryAfter = serializers.IntegerField(allow_null=True, help_text="Seconds, if the limit is used up.")


class FailedCondition(serializers.Serializer):
    condition = serializers.CharField()
    wanted = serializers.JSONField()
    saw = serializers.JSONField(allow_null=True)


class TraceStep(serializers.Serializer):
    index = serializers.IntegerField()
    priority = serializers.IntegerField(allow_null=True)
    action = Choice(choices=ACTIONS)
    matched = serializers.BooleanField()
    decisive = serializers.BooleanField(help_text="The first that matched.")
    failed = FailedCondition(allow_null=True, help_text="The condition that did not hold.")


class RequesterShown(serializers.Serializer):
    id = serializers.CharField()
    name = serializers.CharField(allow_null=True)


class ErrorShown(serializers.Serializer):
    code = serializers.CharField()
    message = serializers.CharField()
    type = serializers.CharField()
    param = serializers.CharField(required=False)


class DecisionSerializer(serializers.Serializer):
    """What was decided, and why."""

    object = Choice(choices=["access_decision"])
    id = Id("dec", allow_null=True, help_text="Null for a dry run, which leaves no record.")
    allowed = serializers.BooleanField()
    reason = Choice(choices=[reason.value for reason in Reason], allow_null=True, help_text="Null if allowed.")
    message = serializers.CharField(allow_null=True, help_text="The rule's.")
    contentId = Id("cnt")
    requester = RequesterShown()
    permissions = serializers.ListField(child=serializers.CharField())
    policyId = Id("pol", allow_null=True)
    policyVersion = serializers.IntegerField(allow_null=True)
    matchedRule = MatchedRule(allow_null=True, help_text="Null for the default action.")
    license = LicenseBehind(allow_null=True)
    rateLimit = RuleRateLimit(allow_null=True)
    charge = serializers.JSONField(allow_null=True)
    dryRun = serializers.BooleanField()
    created = Timestamp()
    trace = TraceStep(many=True, required=False, help_text="With `explain`, and of a recorded decision.")


class BatchedDecisionSerializer(DecisionSerializer):
    """A decision of a batch; one that could not be made has `error`, and of the others only `object` and `allowed`."""

    correlationId = serializers.CharField(required=False)
    error = ErrorShown(required=False)

    sometimes = frozenset(DecisionSerializer().fields) - {"object", "allowed"}


def present(answer: Answer, *, explain: bool = False) -> dict[str, Any]:
    """The decision object."""
    decision, policy, rule = answer.decision, answer.policy, answer.decision.rule
    held = decision.license
    shown: dict[str, Any] = {
        "object": "access_decision",
        "id": answer.id,
        "allowed": decision.allowed,
        "reason": decision.reason,
        "message": rule.message if rule else None,
        "contentId": answer.content_id,
        "requester": {"id": answer.requester_id, "name": answer.requester_name},
        "permissions": list(decision.permissions),
        "policyId": policy.id if policy else None,
        "policyVersion": policy.version if policy else None,
        "matchedRule": {"index": rule.index, "priority": rule.priority, "action": rule.action} if rule else None,
        "license": held
        and {
            "id": held.id,
            "licenseType": held.license_type,
            "expiresAt": render_timestamp(held.expires_at),
            "source": held.source,
        },
        "rateLimit": present_rate(answer),
        "charge": None,
        "dryRun": answer.dry_run,
        "created": render_timestamp(answer.created),
    }
    if explain:
        shown["trace"] = trace(policy, answer.facts)
    return shown


def present_rate(answer: Answer) -> dict[str, Any] | None:
    rule, rate = answer.decision.rule, answer.rate
    if rule is None or rule.rate_limit is None or rate is None:
        return None
    retry_after = None if rate.allowed else max(rate.reset - int(answer.created.timestamp()), 1)
    return {
        "requests": rule.rate_limit.requests,
        "period": rule.rate_limit.period,
        "remaining": rate.remaining,
        "reset": rate.reset,
        "retryAfter": retry_after,
    }


def present_batched(answer: Answer | ApiError, check: dict[str, Any]) -> dict[str, Any]:
    if isinstance(answer, ApiError):
        shown: dict[str, Any] = {"object": "access_decision", "allowed": False, "error": answer.as_dict()}
    else:
        shown = present(answer, explain=check.get("explain", False))
    if "correlationId" in check:
        shown["correlationId"] = check["correlationId"]
    return shown
