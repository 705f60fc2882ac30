"""Checking access: from a check to a decision that is on disk before its answer leaves (docs/api-guide.md).

`prepare` decides, `analytics.recording.recorder` records and counts, `settle` says what became of it. `check_access`
does all three with fresh facts, in the caller's transaction; licensing.access.event_loop.gateway does them with cached
ones.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import transaction
from msgspec import Struct
from msgspec.structs import replace
from uuid_utils import uuid7

from accounts import epochs
from accounts.authentication import Caller
from analytics.recording import recorder
from analytics.recording.batch import Case, Charge, Claim, Entry, Outcome
from kit.http.errors import ApiError, NotFound, ValidationFailed
from kit.http.middleware import parse_address
from kit.values import ids
from kit.values.timestamps import render_timestamp
from licensing.access.bodies import Check
from licensing.access.lookup import Selector, current_epoch, find_items, find_requesters, keep_requesters
from licensing.access.subjects import Item, RequesterSnapshot, recorded_license
from licensing.licenses.license_index import vouched_for
from licensing.policies import rate_limits
from licensing.policies.decision import CompiledPolicy, Decision, decide, limited
from licensing.policies.facts import Facts


class Answer(Struct, frozen=True, gc=False):
    """A decision with all that its reply tells of.

    Like the other structures on the way of a check it is no part of any cycle, so the garbage collector may leave it
    out (`gc=False`): thousands of them wait for their commit.
    """

    id: str | None  # None for a dry run, of which there is no record
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


def not_found(check: Check) -> NotFound:
    name, value = check.selector
    return NotFound(f"There is no content item with the {name} {value[:200]!r}.", param=name)


def facts_of(check: Check, item: Item, requester: RequesterSnapshot, now: datetime) -> Facts:
    """The service's own licences for the item win; where it knows of none that has begun, the caller's word counts."""
    standing = None
    if requester.licenses is not None:
        standing = requester.licenses.resolve(item.id, item.tags, item.policy_key, now)
    if standing is None:
        standing = vouched_for(check.license_type, check.has_valid_license)
    licenses = standing.licenses
    if check.is_free:
        licenses = tuple(replace(held, access_amount=None, access_currency=None) for held in licenses)
    return Facts(
        now=now,
        requester_id=check.requester_id,
        license_types=standing.license_types,
        has_valid_license=standing.is_valid,
        has_lapsed_license=standing.has_lapsed,
        licenses_by_service=standing.by_service,
        licenses=licenses,
        permission=check.permission,
        ip=parse_address(check.ip) if check.ip is not None else None,
        content_type=item.content_type,
        tags=item.tags,
        category=item.category,
        archived=item.archived,
        mode=item.mode,
        is_open=item.is_open,
    )


def decide_check(check: Check, item: Item, requester: RequesterSnapshot, now: datetime) -> Answer:
    """The answer, as far as it depends on facts alone; `settle` adds what was counted."""
    facts = facts_of(check, item, requester, now)
    decision = decide(item.policy, facts)
    if check.and_permission is not None and not decision.refuses:
        further = replace(facts, permission=check.and_permission)
        if (other := decide(item.policy, further)).refuses:
            facts, decision = further, other
    rule = decision.rule
    has_limit = decision.allowed and not decision.observed and rule is not None and rule.rate_limit is not None
    return Answer(
        id=None,
        decision=decision,
        content_id=item.id,
        requester_id=check.requester_id,
        requester_name=check.requester_name or requester.name,
        policy=item.policy,
        facts=facts,
        created=render_timestamp(now) or "",
        rate_reset=rate_limits.window(rule.rate_limit.period, now)[1] if has_limit else None,  # type: ignore[union-attr]
        dry_run=check.dry_run,
    )


def prepare(
    check: Check, item: Item, requester: RequesterSnapshot, now: datetime, account: str, epoch: int
) -> tuple[Answer, Entry]:
    """The answer and its record. `account` is a UUID in hex, `epoch` the one that item and requester were read at."""
    answer = decide_check(check, item, requester, now)
    decision, rule = answer.decision, answer.decision.rule
    claim = None
    if answer.rate_reset is not None and rule is not None and rule.rate_limit is not None:
        begin, _ = rate_limits.window(rule.rate_limit.period, now)
        allowance = rule.rate_limit.requests
        claim = Claim(account, requester.pk or 0, item.policy_key or "", rule.fingerprint.hex(), begin, allowance)
    case = Case(
        account=account,
        epoch=epoch,
        requester=requester.pk or 0,
        policy=item.policy_key,
        policy_version=item.policy.version if item.policy else None,
        allowed=decision.allowed,
        reason=decision.reason,
        rule_index=rule.index if rule else None,
        permission=answer.facts.permission,
        facts=recorded_facts(check, item, answer),
        created=answer.created,
        rate_reset=answer.rate_reset,
        observed=decision.observed,
    )
    return for_item(answer, item, Entry("", "", case, claim, charge_of(decision)))


def for_item(answer: Answer, item: Item, entry: Entry) -> tuple[Answer, Entry]:
    """The answer and its record for that item, which differs in nothing that they depend on; with a new id."""
    now = answer.facts.now
    # Events are partitioned by id, so one that is told of later still goes to its own month.
    key = uuid7(nanoseconds=int(now.timestamp()) * 1_000_000_000 + now.microsecond * 1_000).bytes
    return (
        replace(answer, id=ids.encode("dec", key), content_id=item.id),
        Entry(key.hex(), item.key, entry.case, entry.claim, entry.charge),
    )


class DecisionBatch:
    """Prepares the checks of one request: those that are alike in all that decides are decided once."""

    def __init__(self, now: datetime, account: str, epoch: int) -> None:
        self.now, self.account, self.epoch = now, account, epoch
        self.decided: dict[Any, tuple[Answer, Entry]] = {}

    def decide(self, check: Check, item: Item, requester: RequesterSnapshot) -> tuple[Answer, Entry]:
        if check.defaults is None or requester.licenses is not None:  # a licence may be for a single item
            return prepare(check, item, requester, self.now, self.account, self.epoch)
        alike = (id(check.defaults), id(item.policy), item.content_type, item.tags, item.category, item.archived)
        known = self.decided.get(alike)
        if known is not None:
            return for_item(known[0], item, known[1])
        made = self.decided[alike] = prepare(check, item, requester, self.now, self.account, self.epoch)
        return made


def charge_of(decision: Decision) -> Charge | None:
    """What the decision costs, if its rule's limit does not turn it into a denial."""
    price, held = decision.price, decision.license
    if price is None or held is None or held.id is None:
        return None
    return Charge(*price, license_key(held.id), held.license_type or "")


@lru_cache(maxsize=10_000)
def license_key(license_id: str) -> str:
    """Its UUID in hex; to decode an id takes longer than to decide."""
    return ids.hex_of("lic", license_id)


def recorded_facts(check: Check, item: Item, answer: Answer) -> dict[str, Any]:
    """What licensing.access.subjects.facts_of_event makes the decision's facts of again, and what its reply tells
    of."""
    facts, known, requester_name = dict(item.facts), answer.facts, answer.requester_name
    if known.licenses_by_service:
        facts["licenses"] = [recorded_license(held) for held in known.licenses]
        if known.has_lapsed_license:
            facts["lapsedLicense"] = True
    if check.license_type is not None:
        facts["licenseType"] = check.license_type
    if check.has_valid_license:
        facts["hasValidLicense"] = True
    if requester_name is not None:
        facts["requesterName"] = requester_name
    if check.ip is not None:
        facts["ip"] = check.ip
    if check.user_agent:
        facts["userAgent"] = check.user_agent
    return facts


def settle(answer: Answer, outcome: Outcome) -> Answer:
    """The answer with what was counted: a rule whose limit is used up denies, and no other rule is tried."""
    if outcome.remaining is None:
        return answer
    decision = answer.decision if outcome.granted else limited(answer.decision)
    return replace(answer, decision=decision, rate_remaining=outcome.remaining)


# --- With fresh facts ------------------------------------------------------------------------------------------------


@transaction.atomic
def check_access(
    account_id: str, checks: Sequence[Check], now: datetime, caller: Caller | None = None
) -> list[Answer | ApiError]:
    """The answer to each check, in their order; NotFound in the place of one whose item does not exist.

    A fixed number of queries, whatever their number. Dry runs are decided and leave nothing behind. ValidationFailed
    says that SQLite cannot add up what these checks cost; then none of them is recorded. Raises what refuses `caller`
    if its key has changed since it was authenticated; an operator (None) has no key.
    """
    try:
        try:
            with transaction.atomic():  # which lets go of requesters, for they come after the account
                return attempt(account_id, checks, now, current_epoch(account_id), caller)
        except Stale:
            return attempt(account_id, checks, now, epochs.hold(account_id), caller)
    except recorder.TOO_MUCH:
        raise ValidationFailed("The totals of the day cannot hold what this access costs.") from None


class Stale(Exception):
    """The account has changed since its facts were read."""


def attempt(
    account_id: str, checks: Sequence[Check], now: datetime, epoch: int, caller: Caller | None
) -> list[Answer | ApiError]:
    """Raises Stale for an epoch that is over."""
    if caller is not None:
        caller.check_at(epoch, now)
    items = find_items(account_id, {check.selector for check in checks})
    lasting = lasting_requesters(checks, items)
    requesters = keep_requesters(account_id, lasting)
    requesters |= find_requesters(account_id, {check.requester_id for check in checks} - lasting.keys())
    batch = DecisionBatch(now, ids.hex_of("acc", account_id), epoch)
    answers: list[Answer | ApiError] = []
    places: list[int] = []
    entries: list[Entry] = []
    for check in checks:
        item, requester = items.get(check.selector), requesters[check.requester_id]
        if item is None:
            answers.append(not_found(check))
        elif check.dry_run:
            answers.append(rehearse(check, item, requester, now))
        else:
            answer, entry = batch.decide(check, item, requester)
            places.append(len(answers))
            entries.append(entry)
            answers.append(answer)
    outcomes = recorder.record(entries)
    if any(outcome.stale for outcome in outcomes):
        raise Stale
    for place, outcome in zip(places, outcomes, strict=True):
        answers[place] = settle(answers[place], outcome)  # type: ignore[arg-type]
    return answers


def lasting_requesters(checks: Sequence[Check], items: Mapping[Selector, Item]) -> dict[str, str | None]:
    """Whom the decisions on these checks are to be recorded of, with the last name that was given to each.

    Who asks for no item that exists, or only rehearses, leaves no trace.
    """
    named: dict[str, str | None] = {}
    for check in checks:
        if not check.dry_run and check.selector in items:
            named[check.requester_id] = check.requester_name or named.get(check.requester_id)
    return named


def rehearse(check: Check, item: Item, requester: RequesterSnapshot, now: datetime) -> Answer:
    """A dry run's answer: by the draft, if there is one, and what the rule's limit would say; nothing is counted.

    A draft is taken for the next version of the item's policy: rules that both have alike share their counts.
    """
    own = item.policy
    if check.policy is not None:
        item = dataclasses.replace(item, policy=check.policy)
    answer = decide_check(check, item, requester, now)
    rule = answer.decision.rule
    if answer.rate_reset is None or rule is None or rule.rate_limit is None:
        return answer
    left = rate_limits.room(own.id if own else None, rule.fingerprint, rule.rate_limit, requester.pk, now)
    return settle(answer, Outcome(granted=left > 0, remaining=max(left - 1, 0)))
