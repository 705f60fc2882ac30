"""The edge: visitors got the decided replies, and only allowed requests reached the publisher's server."""

from collections import Counter

import pytest

from tests.world.diary import Question
from tests.world.model.decisions import right_answers
from tests.world.model.evaluator import Verdict
from tests.world.model.expected import Expected

VISITORS = {"reader": {200, 402, 403}, "crawler": {200, 402, 403}, "licensee": {200}}  # what each gets at least

UNLICENSED = {"no_license", "license_expired", "permission_not_granted"}
UNPAID = {"credits_exhausted", "quota_exceeded"}


def visits(month: Expected) -> list[Question]:
    return [asked for asked in month.diary.questions if asked.way == "edge" and not asked.is_lost]


def status_of(verdict: Verdict) -> int:
    if verdict.allowed:
        return 200
    if verdict.reason == "rate_limit_exceeded":
        return 429
    is_licence_missing = verdict.reason in UNLICENSED and verdict.is_for_licensees
    return 402 if verdict.offers or verdict.reason in UNPAID or is_licence_missing else 403


@pytest.mark.parametrize("actor", VISITORS)
def test_every_visitor_got_the_status_that_the_terms_give(month: Expected, actor: str) -> None:
    own = [asked for asked in visits(month) if asked.actor == actor and asked.is_recorded]
    wrong = [
        (asked, rights)
        for asked in own
        if asked.status not in (rights := {status_of(verdict) for verdict in right_answers(month.diary, asked)})
    ]
    assert wrong == []
    assert VISITORS[actor] <= {asked.status for asked in own}


def test_the_publishers_server_was_asked_for_what_was_allowed_and_nothing_else(month: Expected) -> None:
    served = Counter(
        (one.path, one.visitor, one.requester) for one in month.found["served"] if one.path != "/robots.txt"
    )
    allowed = Counter((asked.page, asked.ip, asked.requester) for asked in visits(month) if asked.status == 200)
    lost = Counter((asked.page, asked.ip, asked.requester) for asked in month.diary.questions if asked.is_lost)
    assert allowed - served == Counter()
    assert served - allowed - lost == Counter()


def test_the_publishers_server_was_told_that_every_page_was_allowed(month: Expected) -> None:
    """/robots.txt stays open while the service is down, so the server may get it without a decision."""
    served = month.found["served"]
    assert {one.decision for one in served if one.path != "/robots.txt"} == {"allow"}
    assert {one.decision for one in served if one.path == "/robots.txt"} <= {"allow", None}
