"""Recording decisions that spend from wallets."""

from collections.abc import Sequence

from msgspec.structs import replace

from analytics.recording import recorder
from analytics.recording.entries import Case, Entry
from analytics.recording.outcomes import Outcome
from analytics.recording.spending_sql import Spending
from analytics.wallets.spending import WalletBooks
from kit.http.errors import ApiError
from kit.values import ids
from licensing.access.charging.credits import AMOUNT_MARK, deny_unpaid, paid_by, with_credits
from licensing.access.deciding import Answer
from licensing.access.decisions import Decisions


def spend_in_record(made: Decisions) -> Decisions:
    """Let the record take what the decisions spend (analytics.recording.spending_sql)."""
    wallets = dict.fromkeys(spend.wallet for spends in made.spends.values() for spend in spends)
    spending, nanoseconds = Spending(tuple(wallets)), ids.to_nanoseconds(made.now)
    entries = []
    for number, entry in enumerate(made.entries):
        spends = made.spends.get(number, ())
        case = with_fact(entry.case, credits=paid_by(spends[-1])) if spends else entry.case
        keyed = tuple((ids.new_key(nanoseconds), spend) for spend in spends)
        entries.append(replace(entry, case=case, spending=spending, spends=keyed))
    return replace(made, entries=entries)


def with_fact(case: Case, **facts: object) -> Case:
    """Return the case with further recorded facts."""
    return replace(case, facts={**case.facts, **facts})


def foresee_answers(made: Decisions) -> Sequence[Answer | ApiError]:
    """Return the answers that the record will confirm, with a mark in place of the credit that remains."""
    if not made.spends:
        return made.answers
    answers = list(made.answers)
    for number, spends in made.spends.items():
        [place] = made.shared[number].places
        answers[place] = with_credits(answers[place], spends[-1], None)
    return answers


def fill_remaining(reply: bytes, answer: Answer | ApiError) -> bytes:
    """Replace the mark in a reply to a check by the credit that remains."""
    if isinstance(answer, ApiError) or answer.credits is None:
        return reply
    return reply.replace(AMOUNT_MARK.encode(), str(answer.credits["remaining"]).encode())


def rehearse_observed(made: Decisions) -> Decisions:
    """Let observed decisions say which wallet would not cover them. Each is compared with the balance as it is."""
    books = WalletBooks.read({spend.wallet for spends in made.rehearsals.values() for spend in spends}, made.now)
    answers, entries = list(made.answers), list(made.entries)
    for number, spends in made.rehearsals.items():
        [place] = made.shared[number].places
        answer, entry = answers[place], entries[number]
        uncovered = books.first_uncovered(spends)
        if uncovered is None or not isinstance(answer, Answer):
            continue
        answers[place] = answer = deny_unpaid(answer, uncovered, books)
        case = replace(entry.case, observed=answer.decision.observed, rate_reset=None)
        entries[number] = replace(entry, case=with_fact(case, credits=books.describe_shortfall(uncovered)), claim=None)
    return replace(made, answers=answers, entries=entries)


def record_spending(made: Decisions) -> tuple[Decisions, list[Outcome]]:
    """Record decisions that spend, in the caller's transaction, each in its turn.

    The wallets are locked first. A check that its wallet does not cover is denied and claims nothing else; one that a
    rule's limit denies spends nothing. Returns the decisions as they were recorded, and the outcomes. If an outcome is
    stale, the transaction is to be rolled back.
    """
    books = WalletBooks.lock({spend.wallet for spends in made.spends.values() for spend in spends}, made.now)
    answers = list(made.answers)
    outcomes: list[Outcome] = []
    unrecorded: list[Entry] = []
    for number, shared in enumerate(made.shared):
        entry, spends = made.entries[number], made.spends.get(number, ())
        answer = answers[shared.places[0]]
        if not spends or not isinstance(answer, Answer):
            unrecorded.append(entry)
            continue
        uncovered = books.first_uncovered(spends)
        if uncovered is not None:
            answer = deny_unpaid(answer, uncovered, books)
            books.exhaust(uncovered)
            denied_case = replace(entry.case, allowed=False, reason=answer.decision.reason, rate_reset=None)
            entry = replace(entry, case=denied_case, claim=None, charge=None)
        else:
            answer = replace(answer, credits=books.describe_remaining(spends[-1]))
        unrecorded.append(replace(entry, case=with_fact(entry.case, credits=answer.credits)))
        if uncovered is None and entry.claim is not None:  # whether it spends depends on the rule's limit
            outcomes += recorder.record(unrecorded)
            unrecorded = []
            if not outcomes[-1].is_stored:
                return made, outcomes
            if not outcomes[-1].counted(0).granted:
                answers[shared.places[0]] = replace(answer, credits=None)
                continue
        if uncovered is None:
            books.pay(spends, answer.id or "")
        answers[shared.places[0]] = answer
    outcomes += recorder.record(unrecorded)
    books.save()
    return replace(made, answers=answers), outcomes
