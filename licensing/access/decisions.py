"""Decide checks: from items and requesters to answers and records."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from secrets import token_urlsafe

from msgspec import Struct
from msgspec.structs import replace

from accounts.keys.authentication import Grant
from analytics.recording.entries import Case, Claim, Entry
from analytics.recording.naming import NamedRequester, Naming
from analytics.recording.outcomes import Outcome
from analytics.recording.spending_sql import Spend
from kit.http.errors import ApiError
from kit.values import ids
from kit.values.networks import truncate_address
from kit.values.timestamps import render_timestamp
from licensing.access import deciding
from licensing.access.charging.credits import build_charge, rehearse_spending, spends_if_enforced, with_credits
from licensing.access.check_values import Check, EdgeTerms
from licensing.access.deciding import (
    Answer,
    SharedDecision,
    admit_payer,
    by_current_ids,
    not_found,
    settle,
    strictest_page,
)
from licensing.access.facts import recorded_facts
from licensing.access.subjects import Item, LookupResult, RequesterSnapshot
from licensing.access.tokens.challenges import refusal_of_token
from licensing.policies import rate_limits

VISITOR_BYTES = 16  # of random ids
Likeness = tuple[object, ...]  # an item's policy and facts; items with equal ones get the same decision


class Decisions(Struct, frozen=True, gc=False):
    """The decisions of one request: answers for the reply, and entries to be recorded.

    `answers` are in the order of the checks: NotFound if the item does not exist, InvalidToken if the licence token is
    no longer valid. Dry runs have no entry.
    """

    account: str  # UUID in hex
    now: datetime
    answers: Sequence[Answer | ApiError]
    entries: Sequence[Entry]
    shared: Sequence[SharedDecision]  # one per entry, in the same order
    claims: bool  # whether recording may change an answer, because an entry claims part of a rate limit
    spends: Mapping[int, tuple[Spend, ...]]  # wallet debits, by index of the entry
    rehearsals: Mapping[int, tuple[Spend, ...]]  # what observed decisions would spend, likewise
    unwritten: Mapping[str, RequesterSnapshot]  # new or newly named requesters, stored with the decisions

    def need_transaction(self, *, keep_reply: bool) -> bool:
        """Return whether one statement cannot record the decisions, or nothing confirms the key."""
        if not self.entries:  # their record would confirm the key
            return True
        if self.rehearsals:  # an observed decision asks what a wallet has
            return True
        # A statement takes one of these: a spend, a limit's claim, a stored reply.
        return bool(self.spends) + self.claims + keep_reply > 1

    def entries_while_awaited(self, is_awaited: Callable[[], bool]) -> Sequence[Entry]:
        """Return the entries; the record leaves out charges, spends and counts if nobody awaits the answer then."""
        return [
            replace(entry, is_awaited=is_awaited) if entry.charge or entry.spends or entry.claim else entry
            for entry in self.entries
        ]

    def settle(self, outcomes: Sequence[Outcome]) -> Sequence[Answer | ApiError]:
        """Return the answers, adjusted by the outcomes of recording."""
        if not self.claims and not self.spends:
            return self.answers
        answers = list(self.answers)
        for number, (shared, outcome) in enumerate(zip(self.shared, outcomes, strict=True)):
            if outcome.available is not None:
                [place] = shared.places
                answers[place] = with_credits(answers[place], self.spends[number][-1], outcome.available)
            for count, place in enumerate(shared.places if outcome.remaining_before is not None else ()):
                answer = answers[place]
                if isinstance(answer, Answer):
                    answers[place] = answer = settle(answer, outcome.counted(count))
                    if answer.rate_remaining == 0:
                        rule, requester_id = answer.decision.rule, answer.facts.requester_id
                        rate_limits.note_used_up(self.account, answer.policy, rule, answer.rate_reset, requester_id)
        return answers


class DecisionMaker:
    """Makes the decisions of one request, one check after the other."""

    def __init__(
        self,
        found: LookupResult,
        requesters: Mapping[str, RequesterSnapshot],
        account: str,
        now: datetime,
        grant: Grant | None,
    ) -> None:
        self.stores_full_addresses = grant is not None and grant.stores_full_addresses
        self.key_id = None if grant is None else grant.key_id
        self.account, self.epoch, self.now = account, found.epoch, now
        self.items, self.requesters = found.items, requesters
        self.entries: list[Entry] = []
        self.shared: list[SharedDecision] = []
        self.alike: dict[Likeness, SharedDecision] = {}  # of checks that only name their item
        self.claims = False
        self.spends: dict[int, tuple[Spend, ...]] = {}
        self.rehearsals: dict[int, tuple[Spend, ...]] = {}
        self.unwritten: dict[str, RequesterSnapshot] = {}
        self.further_dependencies = [] if self.key_id is None else [self.key_id]  # accounts.plans.epochs

    def answer(self, check: Check, place: int, decision_id: str, key: str) -> Answer | ApiError:
        """Decide the check at this index, and add its entry under this id unless it is a dry run."""
        item = self.items.get(check.selector)
        if item is None:
            return not_found(check)
        requester = self.requesters[check.requester_id]
        if check.token is not None and (refusal := refusal_of_token(check.token, requester, self.now)) is not None:
            self.further_dependencies += requester.depends_on
            return refusal
        if check.dry_run:
            return rehearse(check, item, self.requesters, self.now)
        if item.others:
            self.further_dependencies += [name for page in item.others for name in page.depends_on]
            item = strictest_page(check, item, self.requesters, self.now)
        if item.urls:
            self.further_dependencies += item.urls
        # A licence may cover a single item, and each access that a wallet pays for is decided separately.
        if check.names_item_alone and requester.licenses is None and not requester.wallets:
            shared = self.share_decision(check, item, requester)
        else:
            shared = self.decide(check, item, requester)
        shared.places.append(place)
        shared.entry.ids.append(key)
        shared.entry.contents.append(item.key)
        return replace(shared.answer, id=decision_id, content_id=item.id, shared=shared)

    def share_decision(self, check: Check, item: Item, requester: RequesterSnapshot) -> SharedDecision:
        """Return the decision for this check and item. Items with equal policy and facts share one."""
        likeness = item.policy_key, item.fact_values
        shared = self.alike.get(likeness)
        # Rate limits are counted in the order of the checks.
        if shared is None or (shared.counts and shared is not self.shared[-1]):
            shared = self.alike[likeness] = self.decide(check, item, requester)
        return shared

    def decide(self, check: Check, item: Item, requester: RequesterSnapshot) -> SharedDecision:
        """Decide, and add an entry with its rate-limit claim, charge and wallet debits."""
        other = None if check.edge is None else self.other_requester(check.edge)
        if not requester.is_written:
            self.unwritten[check.requester_id] = requester
        answer = deciding.decide_check(check, item, requester, self.now, other)
        if answer.rate_reset is not None and check.edge is not None:
            answer = with_new_visitor(answer, item, check.edge)
        counted = other if other is not None and answer.facts.requester_id != check.requester_id else requester
        if counted.wallets and (spends := spends_if_enforced(answer.decision, counted.wallets)):
            kept = self.spends if answer.decision.observed is None else self.rehearsals
            kept[len(self.entries)] = spends
        claim = None if answer.rate_reset is None else self.build_claim(check, answer, item, counted)
        self.claims |= claim is not None
        case = self.build_case(check, item, requester, answer)
        charge = None if answer.decision.price is None else build_charge(answer.decision)
        self.entries.append(entry := Entry(case, [], [], claim, charge))
        self.shared.append(shared := SharedDecision(answer, entry, counts=claim is not None))
        return shared

    def build_case(self, check: Check, item: Item, requester: RequesterSnapshot, answer: Answer) -> Case:
        """Build the recorded form of the decision."""
        decision, rule = answer.decision, answer.decision.rule
        facts = recorded_facts(check, item, answer.facts, answer.requester_name, self.key_id)
        is_person = check.edge is not None and check.edge.is_person
        if is_person and not self.stores_full_addresses and "ip" in facts:
            facts["ip"] = truncate_address(facts["ip"])  # the decision and its counters used the full one
        return Case(
            account=self.account,
            epoch=self.epoch,
            requester=requester.pk or 0,
            policy=item.policy_key,
            policy_version=item.policy.version if item.policy else None,
            allowed=decision.allowed,
            reason=decision.reason,
            rule_index=rule.index if rule else None,
            permission=answer.facts.permission,
            facts=facts,
            created=answer.created,
            rate_reset=answer.rate_reset,
            observed=decision.observed,
            also=self.further_dependencies,
        )

    def other_requester(self, edge: EdgeTerms) -> RequesterSnapshot | None:
        """Return the second requester that must also be allowed, and add it to the dependencies."""
        if edge.and_requester_id is None:
            return None
        other = self.requesters[edge.and_requester_id]
        self.further_dependencies += other.depends_on
        if not other.is_written:
            self.unwritten[edge.and_requester_id] = other
        return other

    def build_claim(self, check: Check, answer: Answer, item: Item, counted: RequesterSnapshot) -> Claim | None:
        """Return the counted requester's claim on the rule's rate limit, or None if the rule has no limit."""
        rule = answer.decision.rule
        limit = None if rule is None else rate_limits.effective_limit(rule, answer.facts)
        if answer.rate_reset is None or rule is None or limit is None:
            return None
        begin, _ = rate_limits.limit_window(limit.period, self.now)
        allowance = limit.requests
        if check.edge is not None and answer.facts.visitor_id is not None:
            first = rate_limits.first_counted_window(find_policy_id(item), rule, check.edge.marks, self.now)
            allowance -= first == begin  # counted for the address then
        counter = rate_limits.counter_key(rule, answer.facts).hex()
        return Claim(self.account, counted.pk or 0, item.policy_key or "", counter, begin, allowance)

    def named_entries(self) -> list[Entry]:
        """Return the entries with the new and newly named requesters, so that the record stores them."""
        named = [NamedRequester(one.pk or 0, requester_id, one.name) for requester_id, one in self.unwritten.items()]
        naming = Naming(self.account, render_timestamp(self.now) or "", named)
        return [replace(entry, naming=naming) for entry in self.entries]


def with_new_visitor(answer: Answer, item: Item, edge: EdgeTerms) -> Answer:
    """Return the answer to a visitor whom the rule counts for its address, and who gets a cookie.

    A cookie that the visitor sent, and the rule does not know, keeps its id.
    """
    facts = answer.facts
    if not rate_limits.needs_cookie(find_policy_id(item), answer.decision.rule, facts, edge.marks):
        return answer
    visitor_id = facts.visitor_id or token_urlsafe(VISITOR_BYTES)
    return replace(answer, facts=replace(facts, visitor_id=None, new_visitor_id=visitor_id))


def find_policy_id(item: Item) -> str:
    return "" if item.policy is None else item.policy.id or ""


def rehearse(check: Check, item: Item, found: Mapping[str, RequesterSnapshot], now: datetime) -> Answer:
    """Decide a dry run, by the proposed policy if there is one; rate limits are read but not counted.

    A proposed policy counts as the next version of the item's own: rules in both share their counts.
    """
    item, requester = strictest_page(check, item, found, now), found[check.requester_id]
    own = item.policy
    if check.policy is not None:
        item = dataclasses.replace(item, policy=check.policy)
    answer = deciding.decide_check(check, item, requester, now)
    if requester.wallets:
        answer = rehearse_spending(answer, requester.wallets)
    rule = answer.decision.rule
    limit = None if rule is None else rate_limits.effective_limit(rule, answer.facts)
    if answer.rate_reset is None or rule is None or limit is None:
        return answer
    counter = rate_limits.counter_key(rule, answer.facts)
    left = rate_limits.remaining_requests(own.id if own else None, counter, limit, requester.pk, now)
    return settle(answer, Outcome(remaining_before=left).counted(0))


def decide_checks(
    checks: Sequence[Check], found: LookupResult, account: str, now: datetime, grant: Grant | None = None
) -> Decisions:
    """Decide the checks of one request on facts of a single epoch.

    `account` is the account's UUID in hex. `grant` is the caller's at that epoch, None for operators.
    """
    if grant is not None and grant.unlisted_signers_pay:
        checks = [admit_payer(check) for check in checks]
    checks, requesters = by_current_ids(checks, found.requesters)
    maker = DecisionMaker(found, requesters, account, now, grant)
    # Partitions are by id, so an event written after midnight still belongs to the month of its decision.
    texts, keys = ids.successive("dec", len(checks), ids.to_nanoseconds(now))
    answers = [maker.answer(check, place, texts[place], keys[place]) for place, check in enumerate(checks)]
    return Decisions(
        account,
        now,
        answers,
        maker.named_entries() if maker.unwritten else maker.entries,
        maker.shared,
        maker.claims,
        maker.spends,
        maker.rehearsals,
        maker.unwritten,
    )
