"""Decisions as they were recorded: an event and its policy revision, back as the answer that was given."""

from analytics.models import AccessEvent
from licensing.checks import Answer
from licensing.decisions import CompiledPolicy, Decision, Reason, first_license, license_behind
from licensing.facts import facts_of_event
from licensing.lookup import compiled_policy
from licensing.rules import HeldLicense


def recorded_answer(event: AccessEvent) -> Answer:
    """The answer of an event that was loaded with its requester."""
    facts = facts_of_event(event.facts, event.requester.requester_id, event.permission, event.created)
    policy: CompiledPolicy | None = None
    if event.policy_id is not None and event.policy_version is not None:
        policy = compiled_policy(event.policy_id, event.policy_version)
    rule = None
    if policy is not None and event.rule_index is not None:
        rule = next(rule for rule in policy.rules if rule.index == event.rule_index)
    held: HeldLicense | None = None
    if policy is not None and not facts.archived:
        held = license_behind(rule, facts) if rule else first_license(facts)
    return Answer(
        id=event.pk,
        decision=Decision(
            allowed=event.allowed,
            reason=Reason(event.reason) if event.reason else None,
            rule=rule,
            permissions=rule.permissions if rule and event.allowed else (),
            license=held,
        ),
        content_id=event.content_id,
        requester_id=facts.requester_id,
        requester_name=event.facts.get("requesterName") or event.requester.name,
        policy=policy,
        facts=facts,
        created=event.created,
        rate_remaining=event.rate_remaining,
        rate_reset=event.rate_reset,
    )
