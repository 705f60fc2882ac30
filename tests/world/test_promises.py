"""Immediate promises: refusals, replays, and the end of tokens and keys."""

import pytest

from tests.world.model.expected import Expected

PEOPLE = [
    "the operator",
    "the web server",
    "the licensee",
    "the nightly job",
    "the office",
    "the customer desk",
    "the billing system",
    "the bookkeeper",
]


@pytest.mark.parametrize("who", PEOPLE)
def test_everybody_got_what_was_promised(month: Expected, who: str) -> None:
    promises = [promise for promise in month.diary.promises if promise.who == who]
    assert promises
    assert [promise for promise in promises if promise.found != promise.wanted] == []


def test_everybody_who_was_promised_something_is_asked(month: Expected) -> None:
    assert {promise.who for promise in month.diary.promises} == set(PEOPLE)
