"""Matching questions with records: a question without a reply has at most one record, possibly late."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tests.world.diary import Question
from tests.world.model.matching import Matches, match

BEGUN = datetime(2027, 3, 15, 8, tzinfo=UTC).timestamp()
READER = Question("reader", "edge", "anonymous", None, "/premium/a", "read", ip="127.0.1.1")


def asked(status: int, begun: float = 0, **fields: Any) -> Question:
    """Return a question that took two seconds, `begun` seconds after eight o'clock."""
    return replace(READER, status=status, begun=BEGUN + begun, ended=BEGUN + begun + 2, **fields)


def record(id_: str, second: float, ip: str = "127.0.1.1", *, allowed: bool = False) -> dict[str, Any]:
    return {
        "id": id_,
        "created": f"{datetime.fromtimestamp(BEGUN + second, UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        "requester": {"id": "anonymous"},
        "permission": "read",
        "allowed": allowed,
        "contentId": "cnt_of_the_site",
        "url": "https://pub.example/premium/a",
        "context": {"ip": ip},
    }


def matched(questions: list[Question], records: list[dict[str, Any]]) -> Matches:
    """A model fault: allow access only from the campus."""
    return match(questions, records, {}, lambda one, row: row["allowed"] == ((one.ip or "").startswith("127.0.7.")))


def test_a_lost_question_may_have_no_record() -> None:
    assert matched([asked(503)], []) == ({}, [], [])


def test_a_lost_question_may_have_a_record_whenever_it_was_made() -> None:
    found = matched([asked(503)], [record("dec_1", 86_400)])
    assert (found.unasked, found.missing) == ([], [])
    assert found.by_id["dec_1"].ended == BEGUN + 86_400  # any state up to then may count


def test_a_lost_question_has_one_record_and_none_before_it_was_asked() -> None:
    rows = [record("dec_early", -1), record("dec_1", 3), record("dec_2", 4)]
    found = matched([asked(503)], rows)
    assert len(found.by_id) == 1
    assert rows[0] in found.unasked
    assert len(found.unasked) == 2


def test_a_request_of_an_imported_log_has_the_record_of_its_own_time() -> None:
    imported = asked(200, 86_400, logged=BEGUN + 5, way="log")
    rows = [record("dec_1", 5, allowed=True), record("dec_2", 86_401, allowed=True)]
    assert matched([imported], rows) == ({"dec_1": imported}, rows[1:], [])


def test_a_late_record_is_that_of_the_lost_question_with_its_facts() -> None:
    campus = "127.0.7.1"
    questions = [asked(503), asked(503, 1, ip=campus)]
    found = matched(questions, [record("dec_1", 5, campus, allowed=True)])
    assert found.by_id["dec_1"].ip == campus


def test_of_lost_questions_with_the_same_facts_the_record_is_that_of_the_one_it_is_right_for() -> None:
    offers = [asked(0, 0, offered=1), asked(0, 1, offered=2)]
    right = {"dec_1": 1, "dec_2": 2}
    for rows in ([record("dec_1", 5)], [record("dec_2", 5)], [record("dec_1", 5), record("dec_2", 6)]):
        found = match(offers, rows, {}, lambda one, row: one.offered == right[row["id"]])
        assert {id_: one.offered for id_, one in found.by_id.items()} == {row["id"]: right[row["id"]] for row in rows}


def test_a_late_record_takes_no_answered_question_from_its_own_record() -> None:
    answered = asked(403, 4)
    found = matched([asked(503), answered], [record("dec_late", 5), record("dec_own", 5.5)])
    assert (found.unasked, found.missing) == ([], [])
    assert len(found.by_id) == 2


def test_an_answered_question_is_missing_where_only_a_record_of_another_moment_or_answer_is_there() -> None:
    answered = asked(403)
    for row in (record("dec_1", 9), record("dec_1", 1, allowed=True)):
        assert matched([answered], [row]) == ({}, [row], [answered])
