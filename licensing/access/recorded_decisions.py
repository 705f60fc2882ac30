"""Rebuild the answer of a recorded decision from its event and policy revision."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from analytics.models import AccessEvent
from kit.values.timestamps import render_timestamp
from licensing.access.deciding import Answer
from licensing.access.facts import facts_of_event
from licensing.access.lookup.pages import Revision, compiled_policies, read_policies
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import Decision, Reason, decisive_license, effective_mode
from licensing.policies.facts import NOTES, Facts
from licensing.policies.modes import Mode

WALLET_REASONS = (Reason.CREDITS_EXHAUSTED, Reason.QUOTA_EXCEEDED)
REVISIONS = 20  # policy revisions in memory at a time
# Recorded with a decision, but read by no condition. What callers say about licences is a note that decides, too.
UNREAD = frozenset(note.name for note in NOTES if note.part != "requester")
UNREAD_WITHOUT_ADDRESS = UNREAD | {"ip"}


def recorded_answers(events: Iterable[AccessEvent], *, explained: bool = False) -> Iterator[Answer]:
    """Yield the answers of events that were loaded with their requesters; one query per REVISIONS policies.

    An answer refers to its policy, so keeping all answers keeps all policies in memory. `explained`: their traces will
    be shown.
    """
    # An explanation shows conditions. Cached ones may name a requester that was erased since.
    for event, policy in with_policies(events, read_policies if explained else compiled_policies.get):
        yield recorded_answer(event, policy)


class Question(NamedTuple):
    """The input of equal decisions by one policy, with their number."""

    requester_id: str
    policy: CompiledPolicy | None
    facts: Facts
    events: int


def equal_questions(events: Iterable[AccessEvent], requester_ids: Mapping[int, str]) -> Iterator[Question]:
    """Yield the questions that policies could decide differently, because crawlers ask the same about many pages.

    `requester_ids` maps primary keys of requesters to the publisher's own ids.
    """
    first: dict[tuple[object, ...], tuple[AccessEvent, CompiledPolicy | None]] = {}
    numbers: Counter[tuple[object, ...]] = Counter()
    for event, policy in with_policies(events, compiled_policies.get):
        read = read_by_conditions(event, policy)
        numbers[read] += 1
        first.setdefault(read, (event, policy))
    for read, (event, policy) in first.items():
        requester_id = requester_ids[event.requester_id]
        facts = facts_of_event(event.facts, requester_id, event.permission, event.created)
        yield Question(requester_id, policy, facts, numbers[read])


def read_by_conditions(event: AccessEvent, policy: CompiledPolicy | None) -> tuple[object, ...]:
    """Return what conditions of the policy may read of the event."""
    unread = UNREAD if policy is not None and policy.reads_address else UNREAD_WITHOUT_ADDRESS
    facts = {name: value for name, value in event.facts.items() if name not in unread}
    moment = event.created if policy is not None and policy.looks_at_the_time else None
    text = msgspec.json.encode(facts, order="deterministic")
    return event.requester_id, event.policy_id, event.policy_version, event.permission, moment, text


def with_policies(
    events: Iterable[AccessEvent], read: Callable[[set[Revision]], Mapping[Revision, CompiledPolicy]]
) -> Iterator[tuple[AccessEvent, CompiledPolicy | None]]:
    """Yield the events with their policies, which `read` returns for REVISIONS at a time."""
    group: list[tuple[AccessEvent, Revision | None]] = []
    revisions: set[Revision] = set()
    for event in events:
        revision = revision_of(event)
        if revision is not None and revision not in revisions and len(revisions) == REVISIONS:
            yield from group_with_policies(group, read(revisions))
            group, revisions = [], set()
        group.append((event, revision))
        if revision is not None:
            revisions.add(revision)
    yield from group_with_policies(group, read(revisions))


def group_with_policies(
    group: Iterable[tuple[AccessEvent, Revision | None]], policies: Mapping[Revision, CompiledPolicy]
) -> Iterator[tuple[AccessEvent, CompiledPolicy | None]]:
    for event, revision in group:
        yield event, policies.get(revision) if revision is not None else None


def revision_of(event: AccessEvent) -> Revision | None:
    policy_id = event.policy_id  # reading a reference takes as long as loading a fact
    return (policy_id, event.policy_version) if policy_id and event.policy_version else None


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
        credits=event.facts.get("credits") if not observed and (event.allowed or reason in WALLET_REASONS) else None,
        rate_remaining=event.rate_remaining,
        rate_reset=event.rate_reset,
    )
