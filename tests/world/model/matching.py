"""Match recorded decisions with questions.

A question with a lost answer has at most one record, whenever it was made: a proxy that gives up does not end the
service's work.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.world.diary import Question

Decision = Mapping[str, Any]
IsRight = Callable[[Question, Decision], bool]
SLACK = 0.001  # seconds: a decision's time has microseconds, a question's some more


class Matches(NamedTuple):
    """`by_id` has each recorded decision's question; the other fields are mismatches."""

    by_id: dict[str, Question]
    unasked: list[Decision]  # recorded without a question
    missing: list[Question]  # answered without a record


def match(
    questions: Iterable[Question], decisions: Iterable[Decision], item_ids: Mapping[str, str], is_right: IsRight
) -> Matches:
    """Match questions with decisions. `is_right` says whether a decision is correct for a question."""
    named = {id_: name for name, id_ in item_ids.items()}
    shown: dict[str, Question] = {}
    waiting: dict[Hashable, list[Question]] = defaultdict(list)
    for asked in questions:
        if asked.answer is not None and "id" in asked.answer:
            shown[asked.answer["id"]] = asked
        elif asked.is_recorded or asked.is_lost:
            waiting[facts_of_question(asked)].append(asked)
    recorded: dict[Hashable, list[Decision]] = defaultdict(list)
    by_id: dict[str, Question] = {}
    for decision in decisions:
        if decision["id"] in shown:
            by_id[decision["id"]] = shown.pop(decision["id"])
        else:
            recorded[facts_of_decision(decision, named)].append(decision)
    missing, unasked = list(shown.values()), []
    for facts in {*waiting, *recorded}:
        pairs = Pairs(waiting[facts], recorded[facts], is_right)
        by_id |= pairs.found()
        missing += pairs.missing()
        unasked += pairs.unasked()
    return Matches(by_id, unasked, missing)


def facts_of_question(asked: Question) -> Hashable:
    """Return the facts that a question's decision record shows."""
    about = ("page", asked.page) if asked.is_visit else ("item", asked.item)
    return asked.requester, asked.permission, asked.ip, about


def facts_of_decision(decision: Decision, named: Mapping[str, str]) -> Hashable:
    url, context = decision.get("url"), decision.get("context") or {}
    about = ("page", urlsplit(url).path) if url else ("item", named.get(decision["contentId"]))
    return decision["requester"]["id"], decision["permission"], context.get("ip"), about


class Pairs:
    """A maximum matching of questions and decisions with the same facts."""

    def __init__(self, questions: Iterable[Question], decisions: Iterable[Decision], is_right: IsRight) -> None:
        self.questions = sorted(questions, key=lambda asked: (asked.is_lost, asked.ended))
        self.decisions = sorted(decisions, key=lambda one: (one["created"], one["id"]))
        self.is_right = is_right
        self.question_of: dict[int, int] = {}  # places, by those of decisions
        for place, asked in enumerate(self.questions):
            if not asked.is_lost:
                self.find_decision(place, set())
        for wanted in (True, False):  # other decisions are reported by the comparison of decisions
            for place in range(len(self.decisions)):
                if place not in self.question_of:
                    self.find_question(place, set(), must_be_right=wanted)

    def find_decision(self, asked: int, tried: set[int]) -> bool:
        """Assign a decision to an answered question; its previous question gets another."""
        for place in range(len(self.decisions)):
            if place not in tried and fits(self.questions[asked], self.decisions[place]):
                tried.add(place)
                if place not in self.question_of or self.find_decision(self.question_of[place], tried):
                    self.question_of[place] = asked
                    return True
        return False

    def find_question(self, place: int, tried: set[int], *, must_be_right: bool) -> bool:
        """Assign a question to a decision, of lost ones the latest; its previous decision gets another."""
        taken = {asked: decision for decision, asked in self.question_of.items()}
        for number in sorted(range(len(self.questions)), key=self.latest_lost_last):
            asked, decision = self.questions[number], self.decisions[place]
            is_possible = fits(asked, decision) and (
                not asked.is_lost or not must_be_right or self.is_right(until(asked, decision), decision)
            )
            if number in tried or not is_possible:
                continue
            tried.add(number)
            if number not in taken or self.find_question(taken[number], tried, must_be_right=must_be_right):
                self.question_of[place] = number
                return True
        return False

    def latest_lost_last(self, number: int) -> tuple[bool, float]:
        asked = self.questions[number]
        return asked.is_lost, -asked.begun if asked.is_lost else asked.ended

    def found(self) -> dict[str, Question]:
        pairs = [(self.decisions[place], self.questions[asked]) for place, asked in self.question_of.items()]
        return {decision["id"]: until(asked, decision) for decision, asked in pairs}

    def missing(self) -> list[Question]:
        found = set(self.question_of.values())
        return [asked for place, asked in enumerate(self.questions) if place not in found and not asked.is_lost]

    def unasked(self) -> list[Decision]:
        return [decision for place, decision in enumerate(self.decisions) if place not in self.question_of]


def moment_of(decision: Decision) -> float:
    return datetime.fromisoformat(decision["created"]).timestamp()


def fits(asked: Question, decision: Decision) -> bool:
    """Whether the decision's time and answer are possible for the question."""
    moment, (earliest, latest) = moment_of(decision), asked.decided_between
    if moment < earliest - SLACK:
        return False
    return asked.is_lost or (moment <= latest + SLACK and decision["allowed"] == (asked.status == 200))


def until(asked: Question, decision: Decision) -> Question:
    """Return the question, extended to its decision's time."""
    return replace(asked, ended=max(asked.ended, moment_of(decision)))
