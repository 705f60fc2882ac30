"""Rebuild the answer of a recorded decision from its event and policy revision."""

from collections.abc import Iterable, Iterator

from analytics.models import AccessEvent
from kit.values.timestamps import render_timestamp
from licensing.access.answers import Answer
from licensing.access.facts import facts_of_event
from licensing.access.lookup.policies import Revision, compiled_policies, read_policies
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import Decision, Reason, decisive_license, effective_mode
from licensing.policies.modes import Mode

OF_WALLETS = (Reason.CREDITS_EXHAUSTED, Reason.QUOTA_EXCEEDED)
REVISIONS = 20  # policy revisions in memory at a time


def recorded_answers(events: Iterable[AccessEvent], *, explained: bool = False) -> Iterator[Answer]:
    """Yield the answers of events that were loaded with their requesters; one query per REVISIONS policies.

    An answer refers to its policy, so keeping all answers keeps all policies in memory. `explained`: their traces will
    be shown.
    """
    group: list[tuple[AccessEvent, Revision | None]] = []
    revisions: set[Revision] = set()
    for event in events:
        revision = revision_of(event)
        if revision is not None and revision not in revisions and len(revisions) == REVISIONS:
            yield from answers_of(group, revisions, explained=explained)
            group, revisions = [], set()
        group.append((event, revision))
        if revision is not None:
            revisions.add(revision)
    yield from answers_of(group, revisions, explained=explained)


def revision_of(event: AccessEvent) -> Revision | None:
    policy_id = event.policy_id  # reading a reference takes as long as loading a fact
    return (policy_id, event.policy_version) if policy_id and event.policy_version else None


def answers_of(
    events: Iterable[tuple[AccessEvent, Revision | None]], revisions: set[Revision], *, explained: bool
) -> Iterator[Answer]:
    # An explanation shows conditions. Cached ones may name a requester that was erased since.
    policies = read_policies(revisions) if explained else compiled_policies.get(revisions)
    for event, revision in events:
        yield recorded_answer(event, policies.get(revision) if revision is not None else None)


def recorded_answer(event: AccessEvent, policy: CompiledPolicy | None) -> Answer:
    requester_id = event.requester.requester_id
    facts = facts_of_event(event.facts, requester_id, event.permission, event.created)
    rule = None
    if policy is not None and event.rule_index is not None:
        rule = next(rule for rule in policy.rules if rule.index == event.rule_index)
    reason = Reason(event.reason) if event.reason else None
    mode = effective_mode(policy, facts)
    considered = policy is not None and not facts.archived and mode != Mode.DISABLED
    # Decisions allowed anyway are stored without `observed`, but were not charged either.
    observed = "" if mode == Mode.OBSERVE and event.observed is None else event.observed
    return Answer(
        id=event.pk,
        decision=Decision(
            allowed=event.allowed,
            reason=reason,
            rule=rule,
            permissions=rule.granted_permissions(facts) if rule and event.allowed and not event.observed else (),
            license=decisive_license(event.observed or reason, rule, facts) if considered else None,
            observed=observed,
            waived=facts.waived,
        ),
        content_id=event.content_id,
        requester_id=requester_id,
        requester_name=event.facts.get("requesterName"),
        policy=policy,
        facts=facts,
        created=render_timestamp(event.created) or "",
        credits=event.facts.get("credits") if not observed and (event.allowed or reason in OF_WALLETS) else None,
        rate_remaining=event.rate_remaining,
        rate_reset=event.rate_reset,
    )
