"""Decisions as they were recorded: an event and its policy revision, back as the answer that was given."""

from collections.abc import Iterable

from analytics.models import AccessEvent
from config.api.timestamps import render_timestamp
from licensing.checks import Answer
from licensing.decisions import CompiledPolicy, Decision, Reason, license_of
from licensing.items import facts_of_event
from licensing.lookup import compiled_policies


def recorded_answers(events: Iterable[AccessEvent]) -> list[Answer]:
    """The answers of events that were loaded with their requesters; their policies take one query."""
    loaded = list(events)
    policies = compiled_policies.get(
        (event.policy_id, event.policy_version) for event in loaded if event.policy_id and event.policy_version
    )
    return [
        recorded_answer(event, policies.get((event.policy_id or "", event.policy_version or 0))) for event in loaded
    ]


def recorded_answer(event: AccessEvent, policy: CompiledPolicy | None) -> Answer:
    facts = facts_of_event(event.facts, event.requester.requester_id, event.permission, event.created)
    rule = None
    if policy is not None and event.rule_index is not None:
        rule = next(rule for rule in policy.rules if rule.index == event.rule_index)
    reason = Reason(event.reason) if event.reason else None
    considered = policy is not None and not facts.archived
    return Answer(
        id=event.pk,
        decision=Decision(
            allowed=event.allowed,
            reason=reason,
            rule=rule,
            permissions=rule.permissions if rule and event.allowed else (),
            license=license_of(reason, rule, facts) if considered else None,
        ),
        content_id=event.content_id,
        requester_id=facts.requester_id,
        requester_name=event.facts.get("requesterName"),
        policy=policy,
        facts=facts,
        created=render_timestamp(event.created) or "",
        rate_remaining=event.rate_remaining,
        rate_reset=event.rate_reset,
    )
