"""Recording decisions that spend from wallets."""

from collections.abc import Sequence

from msgspec.structs import replace

from analytics.recording import recorder
from analytics.recording.entries import Entry
from analytics.recording.outcomes import Outcome
from analytics.recording.spending import Spending
from analytics.wallets.spending import Purses
from kit.http.errors import ApiError
from kit.values import ids
from licensing.access.answers import Answer
from licensing.access.charging.credits import MARK, deny_unpaid, paid_by, with_credits
from licensing.access.decisions import DecisionBatch


def spend_in_record(batch: DecisionBatch) -> None:
    """Let the record take what the decisions spend (analytics.recording.spending). Without a spend nothing changes."""
    if not batch.spends:
        return
    wallets = dict.fromkeys(spend.wallet for spends in batch.spends.values() for spend in spends)
    spending, nanoseconds = Spending(tuple(wallets)), ids.nanoseconds_of(batch.now)
    for number, entry in enumerate(batch.entries):
        spends = batch.spends.get(number, ())
        if spends:
            entry.case.facts["credits"] = paid_by(spends[-1])
        keyed = tuple((ids.new_key(nanoseconds), spend) for spend in spends)
        batch.entries[number] = replace(entry, spending=spending, spends=keyed)


def foresee_answers(batch: DecisionBatch) -> Sequence[Answer | ApiError]:
    """Return the answers that the record will confirm, with a mark in place of the credit that remains."""
    answers = list(batch.answers)
    for number, spends in batch.spends.items():
        [place] = batch.shared[number].places
        answers[place] = with_credits(answers[place], spends[-1], None)
    return answers


def fill_remaining(reply: bytes, answer: Answer | ApiError) -> bytes:
    """Replace the mark in a reply to a check by the credit that remains."""
    if isinstance(answer, ApiError) or answer.credits is None:
        return reply
    return reply.replace(MARK.encode(), str(answer.credits["remaining"]).encode())


def rehearse_observed(batch: DecisionBatch) -> None:
    """Let observed decisions say which wallet would not cover them. Each is compared with the balance as it is."""
    purses = Purses.look({one.wallet for spends in batch.rehearsals.values() for one in spends}, batch.now)
    for number, spends in batch.rehearsals.items():
        [place] = batch.shared[number].places
        answer, entry = batch.answers[place], batch.entries[number]
        lacking = purses.lacking(spends)
        if lacking is None or not isinstance(answer, Answer):
            continue
        batch.answers[place] = answer = deny_unpaid(answer, lacking, purses)
        entry.case.facts["credits"] = purses.missing(lacking)
        case = replace(entry.case, observed=answer.decision.observed, rate_reset=None)
        batch.entries[number] = replace(entry, case=case, claim=None)


def record_spending(batch: DecisionBatch) -> list[Outcome]:
    """Record the decisions of a batch that spend, in the caller's transaction, each in its turn.

    The wallets are locked first. A check that its wallet does not cover is denied and claims nothing else; one that a
    rule's limit denies spends nothing. If an outcome is stale, the transaction is to be rolled back.
    """
    purses = Purses.lock({one.wallet for spends in batch.spends.values() for one in spends}, batch.now)
    outcomes: list[Outcome] = []
    waiting: list[Entry] = []
    for number, shared in enumerate(batch.shared):
        entry, spends = batch.entries[number], batch.spends.get(number, ())
        answer = batch.answers[shared.places[0]]
        if not spends or not isinstance(answer, Answer):
            waiting.append(entry)
            continue
        lacking = purses.lacking(spends)
        if lacking is not None:
            answer = deny_unpaid(answer, lacking, purses)
            purses.exhaust(lacking)
            denied = replace(entry.case, allowed=False, reason=answer.decision.reason, rate_reset=None)
            entry = replace(entry, case=denied, claim=None, charge=None)
        else:
            answer = replace(answer, credits=purses.remaining(spends[-1]))
        entry.case.facts["credits"] = answer.credits
        waiting.append(entry)
        if lacking is None and entry.claim is not None:  # whether it spends depends on the rule's limit
            outcomes += recorder.record(waiting)
            waiting = []
            if outcomes[-1].stale:
                return outcomes
            if not outcomes[-1].counted(0).granted:
                batch.answers[shared.places[0]] = replace(answer, credits=None)
                continue
        if lacking is None:
            purses.pay(spends, answer.id or "")
        batch.answers[shared.places[0]] = answer
    outcomes += recorder.record(waiting)
    purses.save()
    return outcomes
