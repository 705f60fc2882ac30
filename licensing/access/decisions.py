"""Decisions on checks: from their items and requesters to answers and records."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import attrgetter

from msgspec.structs import replace

from analytics.recording.batch import Outcome
from analytics.recording.entries import Case, Claim, Entry, Reply
from analytics.recording.naming import Named, Naming
from analytics.wallets.spending import Spend
from kit.http.errors import ApiError
from kit.telemetry.tracing import traced
from kit.values import ids
from kit.values.timestamps import render_timestamp
from licensing.access.answers import Answer, Shared, not_found, settle
from licensing.access.bodies import Check, EdgeTerms
from licensing.access.charging.charges import charge_of
from licensing.access.charging.credits import rehearse_spending, spends_of
from licensing.access.facts import facts_of, recorded_facts
from licensing.access.lookup import Found
from licensing.access.newcomers import with_current_ids
from licensing.access.subjects import Item, RequesterSnapshot
from licensing.access.tokens.challenges import refusal_of_token
from licensing.policies import rate_limits
from licensing.policies.decision import Decision, decide
from licensing.policies.facts import OF_ITEM, Facts
from licensing.policies.offers import offers, taken

Likeness = tuple[object, ...]  # what decides of an item: its policy and its facts
likeness_of = attrgetter("policy_key", *(fact.attribute for fact in OF_ITEM))


def strictest_page(check: Check, item: Item, found: Mapping[str, RequesterSnapshot], now: datetime) -> Item:
    """Return the page that decides: of those that the URL may name the one with the strictest decision."""
    if not item.others:
        return item
    other_id = check.edge.and_requester_id if check.edge is not None else None
    requester, other = found[check.requester_id], found.get(other_id or "")
    return min(item.readings, key=lambda page: leniency(decide_check(check, page, requester, now, other)))


def leniency(answer: Answer) -> tuple[bool, bool, bool]:
    """Order decisions by what they let through: denials, those that a payment would lift, limits, prices."""
    decision = answer.decision
    if decision.refuses:
        return False, any(offers(answer.policy, answer.facts)), False
    return True, decision.rule is None or decision.rule.rate_limit is None, decision.price is None


def traced_decision(answer: Answer) -> dict[str, str | bool]:
    reason = answer.decision.reason
    told: dict[str, str | bool] = {"licensing.allowed": answer.decision.allowed}
    return told if reason is None else {**told, "licensing.reason": str(reason)}


@traced("decide", describe=traced_decision)
def decide_check(
    check: Check, item: Item, requester: RequesterSnapshot, now: datetime, other: RequesterSnapshot | None = None
) -> Answer:
    """The answer, as far as it depends on facts alone; what was counted is added later.

    `other` is the one of the edge's `and_requester_id`.
    """
    facts = facts_of(check, item, requester, now)
    decision = decide(item.policy, facts)
    if check.edge is not None:
        facts, decision = decide_edge(check, check.edge, item, other, facts, decision)
    limit = decision.rule.rate_limit if decision.rule is not None else None
    if limit is not None and decision.refuses:
        limit = None
    return Answer(
        id=None,
        decision=decision,
        content_id=item.id,
        requester_id=check.requester_id,
        requester_name=check.requester_name or requester.name,
        policy=item.policy,
        facts=facts,
        created=render_timestamp(now) or "",
        rate_reset=None if limit is None else rate_limits.window(limit.period, now)[1],
        dry_run=check.dry_run,
    )


def decide_edge(
    check: Check, edge: EdgeTerms, item: Item, other: RequesterSnapshot | None, facts: Facts, decision: Decision
) -> tuple[Facts, Decision]:
    """The decision with what the edge asks for beside, and the facts that it was made on.

    Of two permissions that are allowed the further one decides where its rule has a limit: nobody gets around that by
    asking for another permission.
    """
    if edge.and_permission is not None and not decision.refuses:
        further = replace(facts, permission=edge.and_permission)
        if edge.and_requester_id is not None and other is not None:
            asked = replace(check, requester_id=edge.and_requester_id, permission=edge.and_permission)
            further = facts_of(asked, item, other, facts.now)
        second = decide(item.policy, further)
        if second.refuses or (second.rule is not None and second.rule.rate_limit is not None):
            facts, decision = further, second
    if edge.payment is not None and (paid := taken(item.policy, facts, decision, edge.payment)) is not None:
        return paid, decide(item.policy, paid)
    return facts, decision


def by_current_ids(
    checks: Sequence[Check], requesters: dict[str, RequesterSnapshot]
) -> tuple[Sequence[Check], dict[str, RequesterSnapshot]]:
    """The checks with the current ids of requesters that were merged into others, and the requesters by these too."""
    current = {asked: one.current_id for asked, one in requesters.items() if one.current_id is not None}
    if not current:
        return checks, requesters
    merged = {
        current_id: dataclasses.replace(requesters[asked], current_id=None) for asked, current_id in current.items()
    }
    return [with_current_ids(check, current) for check in checks], {**merged, **requesters}


def decide_checks(
    checks: Sequence[Check], found: Found, account: str, now: datetime, key_id: str | None = None
) -> "DecisionBatch":
    """Decide the checks of one request on facts of one epoch of their account.

    `account` is a UUID in hex, `key_id` the caller's API key; operators have none.
    """
    batch = DecisionBatch(found, account, now, key_id)
    checks, batch.requesters = by_current_ids(checks, found.requesters)
    # Partitions are by id, so an event that is written later still belongs to its own month.
    nanoseconds = int(now.timestamp()) * 1_000_000_000 + now.microsecond * 1_000
    texts, keys = ids.successive("dec", len(checks), nanoseconds)
    batch.answers = [batch.answer(check, place, texts[place], keys[place]) for place, check in enumerate(checks)]
    if batch.unwritten:
        batch.add_naming()
    return batch


class DecisionBatch:
    """The decisions on the checks of one request: their answers, and the entries to be recorded.

    `answers` are in the order of the checks, with NotFound in the place of one whose item does not exist, and
    InvalidToken where the licence token does not count any more. A dry run has no entry.
    """

    def __init__(self, found: Found, account: str, now: datetime, key_id: str | None) -> None:
        self.account, self.epoch, self.now, self.key_id = account, found.epoch, now, key_id
        self.items, self.requesters = found.items, found.requesters
        self.answers: list[Answer | ApiError] = []
        self.entries: list[Entry] = []
        self.shared: list[Shared] = []  # one for each entry
        self.alike: dict[Likeness, Shared] = {}  # of the checks that name no more than their item
        self.spends: dict[int, tuple[Spend, ...]] = {}  # what entries take from wallets, by their places
        self.unwritten: dict[str, RequesterSnapshot] = {}  # the requesters that the record writes
        self.also = [] if key_id is None else [key_id]  # what the decisions depend on, beside what their records name

    def answer(self, check: Check, place: int, decision_id: str, key: str) -> Answer | ApiError:
        """Answer the check at that place, and enter its decision under this id unless it is a dry run."""
        item = self.items.get(check.selector)
        if item is None:
            return not_found(check)
        requester = self.requesters[check.requester_id]
        if check.token is not None and (refusal := refusal_of_token(check.token, requester, self.now)) is not None:
            self.also += requester.depends_on
            return refusal
        if check.dry_run:
            return rehearse(check, item, self.requesters, self.now)
        if item.others:
            self.also += [name for page in item.others for name in page.depends_on]
            item = strictest_page(check, item, self.requesters, self.now)
        if item.urls:
            self.also += item.urls
        shared = self.share_decision(check, item, requester)
        shared.places.append(place)
        shared.entry.ids.append(key)
        shared.entry.contents.append(item.key)
        return replace(shared.answer, id=decision_id, content_id=item.id, shared=shared)

    def share_decision(self, check: Check, item: Item, requester: RequesterSnapshot) -> Shared:
        """Return the decision for a check and an item like these; alike ones are decided once."""
        # A licence may be for a single item, and each decision that a wallet pays is one by itself.
        if not check.names_item_alone or requester.licenses is not None or requester.wallets:
            return self.decide(check, item, requester)
        kind = likeness_of(item)
        shared = self.alike.get(kind)
        # What is counted is counted in the order of the checks.
        if shared is None or (shared.counts and shared is not self.shared[-1]):
            shared = self.alike[kind] = self.decide(check, item, requester)
        return shared

    def decide(self, check: Check, item: Item, requester: RequesterSnapshot) -> Shared:
        """Decide, and enter the decision with what it claims, costs and takes from wallets."""
        other = None if check.edge is None else self.other_requester(check.edge)
        if not requester.is_written:
            self.unwritten[check.requester_id] = requester
        answer = decide_check(check, item, requester, self.now, other)
        counted = other if other is not None and answer.facts.requester_id != check.requester_id else requester
        if counted.wallets and (spends := spends_of(answer.decision, counted.wallets)):
            self.spends[len(self.entries)] = spends
        claim = None if answer.rate_reset is None else self.claim_of(answer, item, counted)
        case = self.case_of(check, item, requester, answer)
        self.entries.append(entry := Entry(case, [], [], claim, charge_of(answer.decision)))
        self.shared.append(shared := Shared(answer, entry, counts=claim is not None))
        return shared

    def case_of(self, check: Check, item: Item, requester: RequesterSnapshot, answer: Answer) -> Case:
        """Build what the record keeps of the decision."""
        decision, rule = answer.decision, answer.decision.rule
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
            facts=recorded_facts(check, item, answer.facts, answer.requester_name, self.key_id),
            created=answer.created,
            rate_reset=answer.rate_reset,
            observed=decision.observed,
            also=self.also,
        )

    def other_requester(self, edge: EdgeTerms) -> RequesterSnapshot | None:
        """Return the requester who has to be allowed too, on whom the decision then depends."""
        if edge.and_requester_id is None:
            return None
        other = self.requesters[edge.and_requester_id]
        self.also += other.depends_on
        if not other.is_written:
            self.unwritten[edge.and_requester_id] = other
        return other

    def claim_of(self, answer: Answer, item: Item, counted: RequesterSnapshot) -> Claim | None:
        """Return the use of the rule's limit that the decision claims for the counted requester, if it has one."""
        rule = answer.decision.rule
        if answer.rate_reset is None or rule is None or rule.rate_limit is None:
            return None
        begin, _ = rate_limits.window(rule.rate_limit.period, self.now)
        policy, fingerprint = item.policy_key or "", rule.fingerprint.hex()
        return Claim(self.account, counted.pk or 0, policy, fingerprint, begin, rule.rate_limit.requests)

    def add_naming(self) -> None:
        """Have the record write the requesters that are new or renamed."""
        named = [Named(one.pk or 0, requester_id, one.name) for requester_id, one in self.unwritten.items()]
        naming = Naming(self.account, render_timestamp(self.now) or "", named)
        self.entries = [replace(entry, naming=naming) for entry in self.entries]

    @property
    def claims(self) -> bool:
        """Whether an entry claims room in a limit or wallet, so that recording may change its answer."""
        return any(entry.claim is not None for entry in self.entries)

    def keep(self, reply: Reply) -> None:
        """Let the entries be recorded only together with this reply."""
        self.entries = [replace(entry, reply=reply) for entry in self.entries]

    def settle(self, outcomes: Sequence[Outcome]) -> list[Answer | ApiError]:
        """The answers with what became of the entries."""
        for shared, outcome in zip(self.shared, outcomes, strict=True):
            if outcome.room is None:
                continue
            for number, place in enumerate(shared.places):
                answer = self.answers[place]
                if isinstance(answer, Answer):
                    self.answers[place] = answer = settle(answer, outcome.counted(number))
                    if answer.rate_remaining == 0:
                        self.note_limit(answer)
        return self.answers

    def note_limit(self, answer: Answer) -> None:
        """Tells of a rule's limit that this decision has used up."""
        decided_of = answer.facts.requester_id
        name = answer.requester_name if decided_of == answer.requester_id else None
        rate_limits.note_used_up(
            self.account, answer.policy, answer.decision.rule, answer.rate_reset, (decided_of, name)
        )


def rehearse(check: Check, item: Item, found: Mapping[str, RequesterSnapshot], now: datetime) -> Answer:
    """A dry run's answer: by the draft, if there is one, and what the rule's limit would say; nothing is counted.

    A draft is taken for the next version of the item's policy: rules that both have alike share their counts.
    """
    item, requester = strictest_page(check, item, found, now), found[check.requester_id]
    own = item.policy
    if check.policy is not None:
        item = dataclasses.replace(item, policy=check.policy)
    answer = decide_check(check, item, requester, now)
    if requester.wallets:
        answer = rehearse_spending(answer, requester.wallets)
    rule = answer.decision.rule
    if answer.rate_reset is None or rule is None or rule.rate_limit is None:
        return answer
    left = rate_limits.room(own.id if own else None, rule.fingerprint, rule.rate_limit, requester.pk, now)
    return settle(answer, Outcome(room=left).counted(0))
