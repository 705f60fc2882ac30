"""Decisions as they were recorded: an event and its policy revision, back as the answer that was given."""

from analytics.models import AccessEvent
from licensing.checks import Answer, compiled_policy
from licensing.decisions import CompiledPolicy, Decision, Reason, first_license, license_behind
from licensing.facts import facts_of_event
from licensing.rule_limits import RateState


def recorded_answer(event: AccessEvent) -> Answer:
    """The answer of an event that was loaded with its requester."""
    facts = facts_of_event(event)
    policy: CompiledPolicy | None = None
    if event.policy_id is not None and event.policy_version is not None:
        policy = compiled_policy(event.policy_id, event.policy_version)
    rule = None
    if policy is not None and event.rule_index is not None:
        rule = next(rule for rule in policy.rules if rule.index == event.rule_index)
    decided_by_policy = policy is not None and not facts.archived
    license = None  # noqa: A001
    if decided_by_policy:
        license = license_behind(rule, facts) if rule else first_license(facts)  # noqa: A001
    return Answer(
        id=event.pk,
        decision=Decision(
            allowed=event.allowed,
            reason=Reason(event.reason) if event.reason else None,
            rule=rule,
            permissions=rule.permissions if rule and event.allowed else (),
            license=license,
        ),
        content_id=event.content_id,
        requester_id=facts.requester_id,
        requester_name=event.facts.get("requesterName") or event.requester.name,
        policy=policy,
        facts=facts,
        rate=None
        if event.rate_reset is None
        else RateState(event.reason != Reason.RATE_LIMIT_EXCEEDED, event.rate_remaining or 0, event.rate_reset),
        dry_run=False,
        created=event.created,
    )
