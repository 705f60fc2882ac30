"""Wallets: prepaid customers get exactly what they paid for, and entries add up to the balance."""

from collections import Counter
from decimal import Decimal
from typing import Any

from tests.world.model.expected import Expected
from tests.world.model.wallets import Entry


def test_a_wallet_pays_for_a_decision_if_and_only_if_it_covers_it(month: Expected) -> None:
    assert month.bank.wrong == []


def test_a_decision_says_something_of_credits_only_where_a_wallet_has_a_say(month: Expected) -> None:
    shown = {row["id"] for row in month.rows("decisions") if row.get("credits")}
    assert shown == {one.id for one in month.spendings}


def test_observed_decisions_met_wallets_that_cover_them_and_wallets_that_do_not(month: Expected) -> None:
    assert {one.lacking is None for one in month.rehearsals} == {True, False}


def test_every_kind_of_wallet_ran_out_and_was_spent_from_across_a_kill(month: Expected) -> None:
    lacking = {month.diary.wallets[one.lacking].unit for one in month.spendings if one.lacking}
    assert lacking == {"access", "USD", "JPY"}
    for killed, started in month.diary.kills:
        days = [one.at.timestamp() - started for one in month.spendings if not one.lacking]
        assert any(-3600 < seconds < killed - started for seconds in days)
        assert any(0 < seconds < 3600 for seconds in days)


def test_every_entry_of_a_wallet_is_there_once_and_nothing_else_is(month: Expected) -> None:
    found = {
        id_: Counter(Entry(row["type"], row["amount"], row["decisionId"], row["created"]) for row in rows)
        for id_, rows in month.found["entries"].items()
    }
    expected = {
        id_: Counter(one._replace(at=f"{one.at:%Y-%m-%dT%H:%M:%S.%fZ}") for one in book.entries)
        for id_, book in month.bank.books.items()
    }
    assert found == expected


def test_every_wallet_has_the_balance_of_its_entries(month: Expected) -> None:
    found = {row["id"]: row["balance"] for row in month.rows("wallets")}
    summed: dict[str, Decimal] = {
        id_: sum((Decimal(row["amount"]) for row in rows), Decimal(0)) for id_, rows in month.found["entries"].items()
    }
    assert found == summed == {id_: book.balance for id_, book in month.bank.books.items()}


def test_every_grant_has_left_what_was_not_spent_of_it_in_the_order_of_spending(month: Expected) -> None:
    found: dict[str, Any] = {
        id_: {row["id"]: row["remaining"] for row in rows if row["kind"] != "refill"}
        for id_, rows in month.found["grants"].items()
    }
    assert found == {id_: book.left_of_grants() for id_, book in month.bank.books.items()}
