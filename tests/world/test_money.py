"""Money: the ledger, statements and balances to the last millionth."""

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from typing import Any

from tests.world.model import money
from tests.world.model.expected import Expected
from tests.world.model.money import Booking


def test_every_allowed_access_with_a_price_is_in_the_ledger_once_and_nothing_else_is(month: Expected) -> None:
    found = Counter(
        (row["decisionId"], row["amount"], row["currency"], row["requesterId"], row["licenseId"], row["contentId"],
         row["licenseType"], row["occurredAt"])
        for row in month.rows("ledger")
        if row["type"] == "usage"
    )  # fmt: skip
    expected = Counter(
        (one.decision, one.amount, one.currency, one.requester, one.license, one.content, one.tier,
         f"{one.counts:%Y-%m-%dT%H:%M:%S.%fZ}")
        for one in month.charges
    )  # fmt: skip
    assert found == expected


def test_every_price_and_every_adjustment_is_in_the_ledger_once_and_nothing_else_is(month: Expected) -> None:
    found = Counter(
        (row["type"], row["amount"], row["currency"], row["requesterId"], row["licenseId"], row["licenseType"])
        for row in month.rows("ledger")
        if row["type"] != "usage"
    )
    expected = Counter(
        (one.type, one.amount, one.currency, one.requester, one.license, one.tier)
        for one in month.bookings
        if one.type != "usage"
    )
    assert found == expected


def test_every_fee_is_charged_once_at_its_hour_on_the_publishers_clock(month: Expected) -> None:
    found = sorted(
        (row["occurredAt"], row["licenseId"], row["amount"], row["currency"])
        for row in month.rows("ledger")
        if row["type"] == "fee"
    )
    expected = [(f"{one.counts:%Y-%m-%dT%H:%M:%S.%fZ}", one.license, one.amount, one.currency) for one in month.fees]
    assert found == sorted(expected)
    assert len(found) == 3  # two of a month, across a change of the clocks, and one of a quarter


def test_every_statement_adds_up_its_month_and_carries_its_balance_on(month: Expected) -> None:
    names = (
        "opening", "licenses", "fees", "usage", "adjustments", "total", "charges", "refunds", "payments", "payouts",
        "paidForCredit", "closing", "decisions", "lines", "credits",
    )  # fmt: skip
    found = {
        (row["requesterId"], row["month"], row["currency"]): {name: row[name] for name in names}
        for row in month.rows("statements")
    }
    payments = list(month.diary.payments.values())
    assert found == money.statements(month.bookings, month.bank.books.values(), payments)


def test_statements_show_what_customers_owe_have_paid_and_have_paid_in_advance(month: Expected) -> None:
    rows = month.rows("statements")
    closings = [row["closing"] for row in rows if row["payments"]]
    assert min(closings) < 0 < max(closings)
    assert 0 in closings
    for name in ("payments", "payouts", "paidForCredit"):
        expected = sum(
            one.amount
            for one in month.diary.payments.values()
            if not one.voided and name == ("paidForCredit" if one.grant else f"{one.kind}s")
        )
        assert sum(row[name] for row in rows) == expected > 0


def test_every_statement_lists_the_payments_and_voids_that_it_counts(month: Expected) -> None:
    statements = {row["id"]: row for row in month.rows("statements")}
    for id_, rows in month.found["counted payments"].items():
        row = statements[id_]
        expected = {
            payment: money.counted(one, row["month"])
            for payment, one in month.diary.payments.items()
            if (one.requester, one.currency) == (row["requesterId"], row["currency"])
            and row["month"] in [money.month_of(at) for at in (one.begun, one.voided) if at]
        }
        assert {one["id"]: one["counted"] for one in rows} == expected, row


def test_payments_were_voided_in_their_own_month_and_in_a_later_one(month: Expected) -> None:
    voided = [one for one in month.diary.payments.values() if one.voided]
    assert {money.month_of(one.begun) == money.month_of(one.voided or 0) for one in voided} == {True, False}
    assert {one["kind"] for one in month.rows("payments")} == {"payment", "payout"}


def test_every_charge_shows_what_is_refunded_and_what_is_left(month: Expected) -> None:
    """Refunds are adjustments below 0 that name a decision, or a licence without a decision."""
    refunded: Counter[tuple[Any, ...]] = Counter()
    for one in month.bookings:
        if money.is_refund(one) and (one.decision or one.license):
            refunded[one.decision, None if one.decision else one.license] -= one.amount
    charges = [row for row in month.rows("ledger") if row["type"] == "usage"]
    charges += [row for row in month.rows("ledger") if row["type"] == "license" and row["requesterId"] in REFUNDED]
    assert len(charges) > len(REFUNDED)
    for row in charges:
        key = (row["decisionId"], None) if row["decisionId"] else (None, row["licenseId"])
        assert (row["refunded"], row["refundable"]) == (refunded[key], row["amount"] - refunded[key]), row
    assert {row["refundable"] for row in charges if row["refunded"]} >= {0, Decimal("0.02")}


REFUNDED = {"org_acme", "org_stark"}  # customers whose licence's price was refunded


def test_every_month_that_is_over_is_closed_and_this_one_is_open(month: Expected) -> None:
    current = money.month_of(month.now)
    wrong = [
        row for row in month.rows("statements") if row["status"] != ("open" if row["month"] == current else "closed")
    ]
    assert wrong == []


def test_every_statement_line_adds_up_the_accesses_of_a_licence_to_an_item(month: Expected) -> None:
    statements = {row["id"]: row for row in month.rows("statements")}
    for id_, lines in month.found["lines"].items():
        row = statements[id_]
        own = [
            one
            for one in month.bookings
            if (one.requester, money.month_of(one.booked), one.currency)
            == (row["requesterId"], row["month"], row["currency"])
        ]
        assert shown(lines) == expected_lines(own), row


def shown(lines: Iterable[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(
        (line["type"], line["licenseId"], line["contentId"], line["amount"], line["decisions"]) for line in lines
    )


def expected_lines(bookings: Iterable[Booking]) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    charges: dict[Any, tuple[Decimal, int]] = {}
    for one in bookings:
        if one.type == "usage":
            amount, count = charges.get((one.license, one.tier, one.content), (Decimal(0), 0))
            charges[one.license, one.tier, one.content] = (amount + one.amount, count + 1)
        else:
            found[one.type, one.license, one.content, one.amount, 0] += 1
    for (license_id, _, content), (amount, count) in charges.items():
        found["usage", license_id, content, amount, count] += 1
    return found


def test_everything_is_booked_when_it_happened(month: Expected) -> None:
    booked = [row["created"] for row in month.rows("ledger")]
    assert booked == sorted(booked, reverse=True)
    assert month.begun - timedelta(hours=1) < min(one.booked for one in month.bookings)
