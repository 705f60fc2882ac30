"""Decisions: each answered one is recorded once and follows from the terms."""

from collections import Counter
from datetime import date
from typing import Any, NamedTuple

from tests.world.actors.office import PROXY_SECONDS
from tests.world.model.expected import Expected


class Window(NamedTuple):
    """A rate limit's window: one rule, requester and day, with its allowance. An import of a log counts apart."""

    requester: str | None
    policy: str | None
    rule: int | None
    day: date
    allowance: int
    is_imported: bool


def test_every_answered_question_has_its_record(month: Expected) -> None:
    assert month.matches.missing == []


def test_nothing_is_recorded_that_nobody_asked(month: Expected) -> None:
    assert month.matches.unasked == []


def test_requests_abandoned_by_the_proxy_were_decided_late(month: Expected) -> None:
    late = [
        one
        for one in month.recorded
        if one.asked.is_lost and one.asked.way == "edge" and one.at.timestamp() - one.asked.begun > PROXY_SECONDS
    ]
    assert late


def test_every_record_says_what_was_answered(month: Expected) -> None:
    rows = {decision["id"]: decision for decision in month.rows("decisions")}
    answers = [
        known_now(month, asked.answer) for asked in month.diary.questions if asked.answer and "id" in asked.answer
    ]
    differing = [(one, rows[one["id"]]) for one in answers if not is_shown_by(rows[one["id"]], one)]
    assert differing == []


def is_shown_by(record: Any, answer: Any) -> bool:
    """Whether the record contains the answer. It may add stored attributes of the requester."""
    return bool({**record, **answer, "requester": {**record["requester"], **answer["requester"]}} == record)


def known_now(month: Expected, answer: Any) -> Any:
    """Return an answer as its record shows it after the requester's erasure."""
    for person in month.diary.erased:
        if answer["requester"]["id"] == person.former:
            answer = person.forgotten(answer)
    return answer


def test_only_the_decisions_of_an_imported_log_are_marked(month: Expected) -> None:
    marked = {decision["id"] for decision in month.rows("decisions") if decision.get("imported")}
    assert marked == {one.decision["id"] for one in month.recorded if one.asked.way == "log"} != set()


def test_every_decision_is_what_the_terms_say(month: Expected) -> None:
    assert [one for one in month.recorded if not one.verdicts] == []


def test_every_limit_lets_through_as_many_as_it_grants_in_a_day_and_no_more(month: Expected) -> None:
    granted: Counter[Window] = Counter()
    refused: set[Window] = set()
    for one in month.recorded:
        for verdict in one.verdicts[:1]:
            if verdict.limit:
                allowance, period = verdict.limit
                assert period == "day", "The model counts days only."
                is_imported = one.asked.way == "log"
                window = Window(
                    verdict.decided_as, verdict.policy, verdict.rule, one.at.date(), allowance, is_imported
                )
                if "rate_limit_exceeded" in (verdict.reason, verdict.observed):
                    refused.add(window)
                else:
                    granted[window] += 1
    assert refused
    wrong = [
        (window, count)
        for window, count in granted.items()
        if not (count == window.allowance if window in refused else count <= window.allowance)
    ]
    assert wrong == []
