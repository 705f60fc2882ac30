"""Decide checks on facts that are already looked up: the answers, before rendering."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import IntEnum, auto

from msgspec import Struct
from msgspec.structs import replace

from analytics.recording.entries import Entry
from analytics.recording.outcomes import LimitResult
from kit.http.errors import NotFound
from kit.rest.resources import id_hint
from kit.telemetry.tracing import traced
from kit.values import ids
from kit.values.timestamps import render_timestamp
from licensing.access.check_values import Check, EdgeTerms, Payer
from licensing.access.facts import facts_of
from licensing.access.subjects import Item, LookupResult, RequesterSnapshot
from licensing.policies import rate_limits
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import Decision, decide, deny_by_rate_limit, replace_permission
from licensing.policies.facts import Facts
from licensing.policies.offers import apply_payment, decide_both, find_offers


class Answer(Struct, frozen=True, gc=False):
    """A decision and everything its reply shows.

    `gc=False`: no answer is part of a reference cycle, so the garbage collector can skip the thousands that wait for
    their commit.
    """

    id: str | None  # None for a dry run, which is not recorded
    decision: Decision
    content_id: str
    requester_id: str
    requester_name: str | None
    policy: CompiledPolicy | None
    facts: Facts
    created: str  # ISO 8601
    rate_remaining: int | None = None
    rate_reset: int | None = None  # Unix seconds
    dry_run: bool = False
    credits: dict[str, object] | None = None  # the wallet that pays, or whose balance is too low
    payer_unknown: bool = False  # whether the visitor's payment was ignored, because the requester is no customer
    shared: "SharedDecision | None" = (
        None  # the decision shared with other items; None once this answer has its own count
    )


class SharedDecision(Struct, eq=False, gc=False):
    """A decision for one item, or for all items of a request that have the same policy and facts."""

    answer: Answer  # a template: its id and content id are replaced for each item
    entry: Entry
    counts: bool  # whether it uses up a rule's rate limit
    places: list[int] = []  # indexes of its answers within the request


def not_found(check: Check, *, takes_external_id: bool = True) -> NotFound:
    name, value = check.selector
    is_id, hint = ids.decode("cnt", value) is not None, ""
    if name == "contentId" and not is_id:
        hint = id_hint("cnt", value) + (" Send your own identifier as `externalId`." if takes_external_id else "")
    elif name == "externalId" and is_id:
        hint = " Send an id as `contentId`."
    return NotFound(f"There is no content item with the {name} {value[:200]!r}.{hint}", param=name)


def settle(answer: Answer, counted: LimitResult) -> Answer:
    """Apply the rate limit's count: a used-up limit denies, and no further rule is evaluated."""
    decision = answer.decision if counted.granted else deny_by_rate_limit(answer.decision)
    return replace(answer, decision=decision, rate_remaining=counted.remaining, shared=None)


def strictest_page(check: Check, item: Item, found: Mapping[str, RequesterSnapshot], now: datetime) -> Item:
    """Return the page with the strictest decision among those the URL may name."""
    if not item.others:
        return item
    other_id = check.edge.and_requester_id if check.edge is not None else None
    requester = found[check.requester_id]
    other = found.get(other_id or "")
    return min(item.readings, key=lambda page: leniency(decide_check(check, page, requester, now, other)))


class Strictness(IntEnum):
    DENIED = auto()
    UNPAID = auto()  # denied, but a payment would lift it
    PRICED = auto()
    LICENSED = auto()  # it may use up a quota
    LIMITED = auto()
    CONDITIONAL = auto()
    OPEN = auto()


Leniency = tuple[bool, Strictness, float, bool]


def leniency(answer: Answer) -> Leniency:
    """Sort key by strictness. Whatever is only observed comes last; the higher price and the smaller limit come first,
    and of two alike the one under a condition.
    """
    decision, rule = answer.decision, answer.decision.rule
    is_unconditional = rule is None or all(condition.name == "default" for condition in rule.conditions)
    amount: float = 0
    if decision.refuses:
        is_unpaid = any(find_offers(answer.policy, answer.facts))
        kind = Strictness.UNPAID if is_unpaid else Strictness.DENIED
    elif decision.price is not None:
        kind, amount = Strictness.PRICED, -decision.price[0]
    elif decision.license is not None and decision.is_charged:
        kind = Strictness.LICENSED
    elif rule is not None and rule.rate_limit is not None:
        kind, amount = Strictness.LIMITED, rate_limits.requests_per_second(rule.rate_limit)
    elif is_unconditional:
        kind = Strictness.OPEN
    else:
        kind = Strictness.CONDITIONAL
    return decision.observed is not None, kind, amount, is_unconditional


def traced_decision(answer: Answer) -> dict[str, str | bool]:
    reason = answer.decision.reason
    attributes: dict[str, str | bool] = {"licensing.allowed": answer.decision.allowed}
    return attributes if reason is None else {**attributes, "licensing.reason": str(reason)}


@traced("decide", describe=traced_decision)
def decide_check(
    check: Check, item: Item, requester: RequesterSnapshot, now: datetime, other: RequesterSnapshot | None = None
) -> Answer:
    """Decide by facts alone; rate limits are applied after counting.

    `other` is the requester of the edge's `and_requester_id`.
    """
    facts = facts_of(check, item, requester, now)
    decision = decide(item.policy, facts)
    edge, payer_unknown = check.edge, False
    if edge is not None:
        if edge.payment is not None and edge.payer != Payer.KNOWN and not requester.is_customer(now):
            edge, payer_unknown = replace(edge, payment=None), True
        facts, decision = decide_edge(check, edge, item, other, facts, decision)
    limit = decision.rule.rate_limit if decision.rule is not None else None
    if limit is not None and decision.refuses:
        limit = None
    return Answer(
        id=None,
        decision=decision,
        content_id=item.id,
        requester_id=check.requester_id,
        requester_name=requester.name or check.requester_name,
        policy=item.policy,
        facts=facts,
        created=render_timestamp(now) or "",
        rate_reset=None if limit is None else rate_limits.limit_window(limit.period, now).end,
        dry_run=check.dry_run,
        payer_unknown=payer_unknown,
    )


def decide_edge(
    check: Check, edge: EdgeTerms, item: Item, other: RequesterSnapshot | None, facts: Facts, decision: Decision
) -> tuple[Facts, Decision]:
    """Apply the edge's extra terms; return the facts and the decision made on them."""
    facts, decision = apply_payment(item.policy, facts, decision, edge.payment)
    if edge.and_permission is None or decision.refuses:
        return facts, decision
    if edge.is_admitted_by_name and decision.rule is not None and decision.rule.names(facts):
        return facts, decision
    further = replace_permission(facts, edge.and_permission)
    if edge.and_requester_id is not None and other is not None:
        second = replace(check, requester_id=edge.and_requester_id, permission=edge.and_permission)
        further = facts_of(second, item, other, facts.now)
    return decide_both(item.policy, facts, decision, further, edge.payment)


def count_comparisons(checks: Sequence[Check], found: LookupResult) -> int:
    """Return how many comparisons the policies of these checks may take."""
    items = found.items
    return sum([items[check.selector].comparisons for check in checks if check.selector in items])


def admit_payer(check: Check) -> Check:
    """Let an unlisted signer pay."""
    if check.edge is None or check.edge.payer != Payer.UNLISTED:
        return check
    return replace(check, edge=replace(check.edge, payer=Payer.KNOWN))


def with_current_ids(check: Check, current: Mapping[str, str]) -> Check:
    """Return the check with current requester ids. A name given with a merged id is dropped."""
    other = None if check.edge is None else current.get(check.edge.and_requester_id or "")
    if check.edge is not None and other is not None:
        check = replace(check, edge=replace(check.edge, and_requester_id=other))
    if check.requester_id not in current:
        return check
    return replace(check, requester_id=current[check.requester_id], requester_name=None)


def by_current_ids(
    checks: Sequence[Check], requesters: dict[str, RequesterSnapshot]
) -> tuple[Sequence[Check], dict[str, RequesterSnapshot]]:
    """Replace the ids of merged requesters by their current ones, in the checks and in the mapping."""
    current = {known: row.current_id for known, row in requesters.items() if row.current_id is not None}
    if not current:
        return checks, requesters
    merged = {new: dataclasses.replace(requesters[former], current_id=None) for former, new in current.items()}
    return [with_current_ids(check, current) for check in checks], {**merged, **requesters}
