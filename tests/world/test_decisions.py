"""Decisions: each that was answered is recorded once, and each is what the terms say."""

from tests.world.model.expected import Expected


def test_every_answered_question_has_its_record(month: Expected) -> None:
    assert month.matches.missing == []


def test_nothing_is_recorded_that_nobody_asked(month: Expected) -> None:
    assert month.matches.unasked == []


def test_every_record_says_what_was_answered(month: Expected) -> None:
    rows = {decision["id"]: decision for decision in month.rows("decisions")}
    answers = [asked.answer for asked in month.diary.questions if asked.answer and "id" in asked.answer]
    differing = [(one, rows[one["id"]]) for one in answers if {**rows[one["id"]], **one} != rows[one["id"]]]
    assert differing == []


def test_every_decision_is_what_the_terms_say(month: Expected) -> None:
    assert [one for one in month.recorded if not one.verdicts] == []
