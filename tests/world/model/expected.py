"""The month as the model expects it, and as the service reports it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from tests.world.actors.crawlers import CLASSES
from tests.world.diary import Booking, Diary, Question
from tests.world.model.decisions import right_answers
from tests.world.model.evaluator import Verdict
from tests.world.model.matching import Decision, Matches, match
from tests.world.model.money import fees
from tests.world.model.usage import Use
from tests.world.model.wallets import Bank, Spending, Spends


@dataclass(frozen=True)
class Recorded:
    """A recorded decision, its question, and the model's verdicts that agree with it."""

    decision: Decision
    asked: Question
    verdicts: list[Verdict]

    @property
    def at(self) -> datetime:
        return datetime.fromisoformat(self.decision["created"])

    def spending(self, verdict: Verdict, spends: Spends, *, is_observed: bool = False) -> Spending:
        shown_credits = None if is_observed else self.decision.get("credits")
        times = (self.asked.begun, self.asked.ended)
        return Spending(self.decision["id"], self.at, spends, verdict.lacking, shown_credits, *times, is_observed)


class Expected:
    def __init__(self, diary: Diary, found: Mapping[str, Any]) -> None:
        self.diary, self.found = diary, found
        self.now: datetime = found["now"]
        self.begun = datetime.fromtimestamp(min(asked.begun for asked in diary.questions), UTC)

    def rows(self, list_: str) -> list[Any]:
        rows: list[Any] = self.found["lists"][list_]["rows"]
        return rows

    @cached_property
    def names(self) -> dict[str, str | None]:
        """Return the name of everyone who has a licence, a profile or a decision."""
        found: dict[str, str | None] = {}
        for one in self.recorded:
            who = one.asked.requester
            found[who] = found.get(who) or one.asked.name or crawler_name(who)
        return found | {id_: name or found.get(id_) for id_, name in self.diary.requesters.items()}

    @cached_property
    def item_ids(self) -> dict[str, str]:
        return {name: known.changes[0].state["id"] for name, known in self.diary.items.items()}

    @cached_property
    def matches(self) -> Matches:
        return match(self.diary.questions, self.rows("decisions"), self.item_ids, self.is_right)

    def is_right(self, asked: Question, decision: Decision) -> bool:
        return bool(self.right(asked, decision))

    def right(self, asked: Question, decision: Decision) -> list[Verdict]:
        """Return the question's verdicts that agree with the decision."""
        answers = right_answers(self.diary, asked, datetime.fromisoformat(decision["created"]))
        return [one for one in answers if agrees(one, decision)]

    @cached_property
    def recorded(self) -> list[Recorded]:
        found = []
        for decision in self.rows("decisions"):
            asked = self.matches.by_id.get(decision["id"])
            if asked is not None:
                found.append(Recorded(decision, asked, self.right(asked, decision)))
        return found

    @property
    def uses(self) -> list[Use]:
        return [
            Use(
                one.at, one.asked.requester, one.decision["contentId"], one.verdicts[0].allowed, one.verdicts[0].reason
            )
            for one in self.recorded
            if one.verdicts
        ]

    @cached_property
    def charges(self) -> list[Booking]:
        return list(self.charged())

    def charged(self) -> Iterator[Booking]:
        for one in self.recorded:
            for verdict in one.verdicts[:1]:
                if verdict.charge:
                    amount, currency = verdict.charge
                    paid = None if verdict.license == "offer" else verdict.license
                    tier = verdict.tier
                    content, decision = one.decision["contentId"], one.decision["id"]
                    who = one.asked.requester
                    yield Booking("usage", amount, currency, who, paid, tier, content, decision, one.at, one.at)

    @cached_property
    def spendings(self) -> list[Spending]:
        """Return the decisions that wallets paid, or could not pay."""
        found = []
        for one in self.recorded:
            shown_credits = one.decision.get("credits")
            # The price may have changed during the request; then the record shows which one applied.
            fitting = [
                verdict
                for verdict in one.verdicts
                if not verdict.lacking
                or (shown_credits and dict(verdict.spends)[verdict.lacking] == shown_credits.get("required"))
            ]
            found += [one.spending(verdict, verdict.spends) for verdict in (fitting or one.verdicts)[:1]]
        return [one for one in found if one.spends]

    @cached_property
    def rehearsals(self) -> list[Spending]:
        """Return the observed decisions that wallets would pay, or could not pay."""
        found = [
            one.spending(verdict, verdict.would_spend, is_observed=True)
            for one in self.recorded
            for verdict in one.verdicts[:1]
        ]
        return [one for one in found if one.spends]

    @cached_property
    def bank(self) -> Bank:
        spendings = [*self.spendings, *self.rehearsals]
        voids = [grant.voided for grant in self.diary.grants.values() if grant.voided]
        during = {one.at for one in spendings for void in voids if void.overlaps(one.begun, one.ended)}
        banks: list[Bank] = []
        for last in [self.begun, *sorted(during)]:
            banks.append(Bank(self.diary, spendings, self.now, last))
            if not banks[-1].wrong:
                break
        return min(banks, key=lambda bank: len(bank.wrong))

    @cached_property
    def bookings(self) -> list[Booking]:
        """Return the expected ledger entries."""
        return [*self.diary.entries, *self.charges, *self.fees]

    @cached_property
    def fees(self) -> list[Booking]:
        """Return the recurring fees that were due."""
        licenses = self.diary.licenses.items()
        return [one for id_, known in licenses for one in fees(id_, known.latest, self.now)]


def crawler_name(requester: str) -> str | None:
    """Return the name of a crawler as the documentation has it."""
    kind, _, name = requester.partition(":")
    documented = next((known for known in CLASSES if known.lower() == name), None)
    return {"crawler": documented, "unverified": f"{documented} (unverified)"}.get(kind)


def agrees(verdict: Verdict, decision: Decision) -> bool:
    return as_shown(verdict) == shown(decision)


def as_shown(verdict: Verdict) -> tuple[Any, ...]:
    by_service = verdict.license if verdict.license not in ("caller", "offer") else None
    return (
        verdict.allowed, verdict.reason, verdict.rule, list(verdict.permissions), by_service, verdict.charge,
        verdict.observed, verdict.version,
    )  # fmt: skip


def shown(decision: Decision) -> tuple[Any, ...]:
    rule, held, charge = decision["matchedRule"], decision["license"], decision["charge"]
    return (
        decision["allowed"], decision["reason"], rule and rule["index"], decision["permissions"], held and held["id"],
        charge and (charge["amount"], charge["currency"]), (decision.get("observed") or {}).get("reason"),
        decision["policyVersion"],
    )  # fmt: skip
