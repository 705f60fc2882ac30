"""Render decisions as JSON objects, and how long they may be cached: until a schedule, a date or a licence ends it."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from orjson import Fragment

from analytics.ledger.refunds import Balance, Charge, balances
from analytics.models import AccessEvent
from kit.hot_settings import hot_setting
from kit.http.errors import ApiError
from kit.http.rendering import render_json
from kit.values.decimals import from_millionths, render_amount
from kit.values.timestamps import render_timestamp
from licensing.access.check_values import Check
from licensing.access.deciding import Answer, SharedDecision
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import Decision, Reason
from licensing.policies.facts import VISIT_MEMBERS, Facts, shown_facts
from licensing.policies.matching.tracing import trace

CREDIT_AMOUNTS = ("remaining", "required", "available")
Sign = Callable[[Answer], str]
# Maximum bytes of JSON for the trace of one decision, and for all traces of a batch.
MAX_TRACE, MAX_TRACES = 128 * 1024, 512 * 1024


def present(answer: Answer, *, explain: bool = False, room: int = MAX_TRACE) -> dict[str, Any]:
    """Return the decision object. Its trace takes at most `room` bytes of JSON."""
    decision, policy, facts = answer.decision, answer.policy, answer.facts
    rule, held, price = decision.rule, decision.license, decision.price
    is_cacheable = price is None and not answer.dry_run
    shown: dict[str, object] = {
        "object": "access_decision",
        "id": answer.id,
        "allowed": decision.allowed,
        "reason": decision.reason,
        "message": rule.message if rule else None,
        "contentId": answer.content_id,
        "requester": {"id": answer.requester_id, "name": answer.requester_name},
        "permission": facts.permission,
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
        "rateLimit": None if answer.rate_reset is None else present_rate(answer),
        "charge": None if price is None else present_charge(decision),
        "cacheFor": cache_seconds(decision, policy, facts, spends=bool(answer.credits)) if is_cacheable else 0,
        "dryRun": answer.dry_run,
        "created": answer.created,
    }
    if answer.credits:
        shown["credits"] = present_credits(answer.credits)
    if decision.observed:
        shown["observed"] = {"allowed": False, "reason": decision.observed}
    if explain:
        shown |= present_trace(trace(policy, facts), room)
    return shown


def present_recorded(
    event: AccessEvent, answer: Answer, *, explain: bool = False, names_key: bool = False
) -> dict[str, object]:
    """Return the object of a recorded decision, with what the caller sent about the requester and in `context`."""
    shown = present(answer, explain=explain)
    shown["requester"] |= shown_facts("requester", event.facts)
    if context := shown_facts("context", event.facts):
        shown["context"] = context
    if "identifiedBy" in event.facts:
        shown |= {name: event.facts.get(name) for name in VISIT_MEMBERS}
        shown["imported"] = "imported" in event.facts
    if names_key:
        shown["keyId"] = event.facts.get("keyId")
    return shown


def present_trace(steps: list[dict[str, object]], room: int) -> dict[str, object]:
    """Return the first steps that fit into `room` bytes."""
    for place, step in enumerate(steps):
        room -= len(render_json(step)) + 1
        if room < 0:
            return {"trace": steps[:place], "traceTruncated": True}
    return {"trace": steps}


def present_credits(paid: Mapping[str, object]) -> dict[str, object]:
    """Return the wallet part of a decision. Its amounts are texts that are JSON numbers."""
    return {name: Fragment(str(value)) if name in CREDIT_AMOUNTS else value for name, value in paid.items()}


def present_charge(decision: Decision) -> dict[str, object] | None:
    """Return what the access costs, or would cost in a dry run."""
    if decision.price is None:
        return None
    amount, currency = decision.price
    return {"amount": render_amount(from_millionths(amount)), "currency": currency}


def present_refunds(event: AccessEvent, answer: Answer) -> dict[str, object] | None:
    """Return a recorded decision's charge with its refunded and refundable amounts."""
    shown = present_charge(answer.decision)
    if shown is None:
        return None
    charge = Charge("decision", event.pk)
    balance = balances([event.account_id], [charge]).get((charge, str(shown["currency"])), Balance())
    refunds = {"refunded": render_amount(balance.refunded), "refundable": render_amount(balance.refundable)}
    return {**shown, **refunds}


def present_rate(answer: Answer) -> dict[str, object] | None:
    rule = answer.decision.rule
    reset = answer.rate_reset
    if rule is None or rule.rate_limit is None or reset is None:
        return None
    retry_after = None if answer.decision.allowed else max(reset - int(answer.facts.now.timestamp()), 1)
    return {
        "requests": rule.rate_limit.requests,
        "period": rule.rate_limit.period,
        "remaining": answer.rate_remaining,
        "reset": reset,
        "retryAfter": retry_after,
    }


def present_batch(
    answers: Sequence[Answer | ApiError], checks: Sequence[Check], sign: Sign | None = None
) -> dict[str, object]:
    """Return the list of a batch's decisions. Shared decisions are rendered once."""
    made: dict[SharedDecision, Template] = {}
    room = min(MAX_TRACE, MAX_TRACES // (len([check for check in checks if check.explain]) or 1))
    data: list[dict[str, object] | Fragment] = []
    for answer, check in zip(answers, checks, strict=True):
        own: dict[str, object] = {}
        if check.sign and sign is not None and isinstance(answer, Answer):
            own["token"] = sign(answer)
        if check.correlation_id is not None:
            own["correlationId"] = check.correlation_id
        if isinstance(answer, ApiError):
            data.append({"object": "access_decision", "allowed": False, "error": answer.as_dict(), **own})
            continue
        shared = answer.shared
        if shared is None or len(shared.places) == 1:
            data.append({**present(answer, explain=check.explain, room=room), **own})
            continue
        template = made.get(shared)
        if template is None:
            template = made[shared] = Template(present(answer, explain=check.explain, room=room))
        data.append(template.of(answer, own))
    return {"object": "list", "data": data, "hasMore": False, "totalCount": len(data)}


def render_reply(
    answers: Sequence[Answer | ApiError], checks: Sequence[Check], sign: Sign | None, *, is_batch: bool
) -> bytes:
    """Render the body of the reply. Raises the error of a single check. `sign` signs decisions."""
    if is_batch:
        return render_json(present_batch(answers, checks, sign))
    [answer], [check] = answers, checks
    if isinstance(answer, ApiError):
        raise answer
    shown = present(answer, explain=check.explain)
    if check.sign and sign is not None:
        shown["token"] = sign(answer)
    return render_json(shown)


class Template:
    """JSON of a shared decision, without its id and contentId."""

    def __init__(self, shown: dict[str, object]) -> None:
        fields = list(shown.items())
        names = list(shown)
        before, after = names.index("id"), names.index("contentId")
        self.head = f'{{{json_members(fields[:before])}"id":"'
        self.middle = f'",{json_members(fields[before + 1 : after])}"contentId":"'
        self.tail = f'",{json_members(fields[after + 1 :])}'.removesuffix(",")

    def of(self, answer: Answer, own: dict[str, object]) -> Fragment:
        """Return the object of one answer with its additional members. Ids need no escaping."""
        beside = f",{json_members(own.items())}".removesuffix(",") if own else ""
        return Fragment(f"{self.head}{answer.id}{self.middle}{answer.content_id}{self.tail}{beside}}}")


def json_members(fields: Iterable[tuple[str, object]]) -> str:
    """Render the members of a JSON object, each followed by a comma."""
    text = render_json(dict(fields)).decode()[1:-1]
    return f"{text}," if text else ""


LEAST_TOKEN_SECONDS = 5  # for answers that may not be cached: enough to deliver the token to its verifier


def next_change(policy: CompiledPolicy | None, facts: Facts) -> datetime | None:
    """Return when time alone may change the answer: a schedule or time condition, or the end of a licence."""
    boundaries, schedules = (policy.boundaries, policy.schedules) if policy else ((), ())
    if not boundaries and not schedules and not facts.licenses:
        return None
    ends = [held.expires_at for held in facts.licenses if held.expires_at is not None]
    if boundaries:
        ends += boundaries[bisect_right(boundaries, facts.now) :][:1]
    for next_change_of in schedules:
        if (change := next_change_of(facts.now)) is not None:
            ends.append(change)
    return min(ends) if ends else None


def seconds_until_change(policy: CompiledPolicy | None, facts: Facts, most: int) -> int:
    """Return whole seconds until the answer may change, from 0 to `most`."""
    end = next_change(policy, facts)
    return most if end is None else max(0, min(most, int((end - facts.now).total_seconds())))


def is_counted(decision: Decision) -> bool:
    """Return whether each access counts, because it has a price or its rule a rate limit."""
    rule = decision.rule
    if rule is not None and rule.rate_limit is not None and decision.reason in (None, Reason.RATE_LIMIT_EXCEEDED):
        return True
    return decision.price is not None


def cache_seconds(decision: Decision, policy: CompiledPolicy | None, facts: Facts, *, spends: bool) -> int:
    """Return how long the answer may be cached; 0 if each access must be checked. `spends`: whether a wallet pays."""
    if spends or is_counted(decision):
        return 0
    return seconds_until_change(policy, facts, hot_setting("DECISION_CACHE_SECONDS"))


def token_seconds(decision: Decision, policy: CompiledPolicy | None, facts: Facts, *, spends: bool) -> int:
    """Return how long the answer's token is valid: its cache lifetime, or the time to deliver it."""
    seconds = cache_seconds(decision, policy, facts, spends=spends)
    return seconds or max(1, seconds_until_change(policy, facts, LEAST_TOKEN_SECONDS))
