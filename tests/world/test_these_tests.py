"""Each comparison fails if the service's data is changed."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.world import (
    test_decisions,
    test_edge,
    test_exports,
    test_figures,
    test_happenings,
    test_money,
    test_wallets,
)
from tests.world.machines import Served
from tests.world.model.expected import Expected

Found = dict[str, Any]
Comparison = Callable[[Expected], object]


def with_rows(found: Found, list_: str, rows: list[Any]) -> Found:
    return {**found, "lists": {**found["lists"], list_: {**found["lists"][list_], "rows": rows}}}


def lost_decision(found: Found) -> Found:
    return with_rows(found, "decisions", found["lists"]["decisions"]["rows"][1:])


def invented_decision(found: Found) -> Found:
    rows = found["lists"]["decisions"]["rows"]
    return with_rows(found, "decisions", [{**rows[0], "id": "dec_invented"}, *rows])


def unmarked_import(found: Found) -> Found:
    rows = [{**row, "imported": False} for row in found["lists"]["decisions"]["rows"]]
    return with_rows(found, "decisions", rows)


def turned_decision(found: Found) -> Found:
    """Give a denied decision a policy version that does not exist."""
    rows = list(found["lists"]["decisions"]["rows"])
    place = next(n for n, row in enumerate(rows) if row["reason"] == "no_license")
    rows[place] = {**rows[place], "policyVersion": 99}
    return with_rows(found, "decisions", rows)


def exceeded_limit(found: Found) -> Found:
    """Record an access beyond a limit as allowed."""
    rows = list(found["lists"]["decisions"]["rows"])
    place = next(n for n, row in enumerate(rows) if (row.get("observed") or {}).get("reason") == "rate_limit_exceeded")
    late = rows[place]
    same = ("requester", "policyId", "matchedRule")
    first = next(row for row in reversed(rows) if all(row[name] == late[name] for name in same))
    rows[place] = {name: value for name, value in late.items() if name != "observed"}
    rows[place]["permissions"] = first["permissions"]
    return with_rows(found, "decisions", rows)


def charged_twice(found: Found) -> Found:
    rows = found["lists"]["ledger"]["rows"]
    charge = next(row for row in rows if row["type"] == "usage")
    return with_rows(found, "ledger", [{**charge, "id": "led_again"}, *rows])


def forgotten_price(found: Found) -> Found:
    rows = found["lists"]["ledger"]["rows"]
    price = next(row for row in rows if row["type"] == "license")
    return with_rows(found, "ledger", [row for row in rows if row is not price])


def fee_at_an_hour_of_utc(found: Found) -> Found:
    """Charge each fee at the hour at which its licence started in UTC."""
    rows = [
        {**row, "occurredAt": f"{row['occurredAt'][:11]}08{row['occurredAt'][13:]}"} if row["type"] == "fee" else row
        for row in found["lists"]["ledger"]["rows"]
    ]
    return with_rows(found, "ledger", rows)


def wrong_balance(found: Found) -> Found:
    first, *rest = found["lists"]["statements"]["rows"]
    return with_rows(found, "statements", [{**first, "closing": first["closing"] + 1}, *rest])


def truncated_file(found: Found) -> Found:
    return {**found, "csv": {**found["csv"], "ledger": found["csv"]["ledger"][:-1]}}


def forgotten_event(found: Found) -> Found:
    rows = found["lists"]["events"]["rows"]
    gone = next(row for row in rows if row["type"] == "license.revoked")
    return with_rows(found, "events", [row for row in rows if row is not gone])


def lost_delivery(found: Found) -> Found:
    """Remove all deliveries of one event."""
    first, second = found["received"]
    gone = second[0].headers["webhook-id"]
    return {**found, "received": [first, [one for one in second if one.headers["webhook-id"] != gone]]}


def page_let_through(found: Found) -> Found:
    return {**found, "served": [*found["served"], Served("/premium/story-4", "allow", "anonymous", "127.0.1.99")]}


def miscounted_report(found: Found) -> Found:
    (query, report), *rest = found["usage"]
    summary = {**report["summary"], "allowed": report["summary"]["allowed"] - 1}
    return {**found, "usage": [(query, {**report, "summary": summary}), *rest]}


def misread_revenue(found: Found) -> Found:
    (query, report), *rest = found["revenue"]
    summary = {**report["summary"], "total": report["summary"]["total"] + 1}
    return {**found, "revenue": [(query, {**report, "summary": summary}), *rest]}


def forgotten_spend(found: Found) -> Found:
    wallet, gone = next((id_, row) for id_, rows in found["entries"].items() for row in rows if row["type"] == "spend")
    rows = [row for row in found["entries"][wallet] if row is not gone]
    return {**found, "entries": {**found["entries"], wallet: rows}}


def uncovered_access(found: Found) -> Found:
    """Report one access too many in a wallet."""
    rows = list(found["lists"]["decisions"]["rows"])
    place = next(n for n, row in enumerate(rows) if (row.get("credits") or {}).get("unit") == "access")
    credit = rows[place]["credits"]
    name = "remaining" if "remaining" in credit else "available"
    rows[place] = {**rows[place], "credits": {**credit, name: credit[name] + 1}}
    return with_rows(found, "decisions", rows)


def unspent_grant(found: Found) -> Found:
    wallet, rows = next((id_, rows) for id_, rows in found["grants"].items() if rows and rows[-1]["kind"] != "refill")
    first = {**rows[-1], "remaining": rows[-1]["remaining"] + 1}
    return {**found, "grants": {**found["grants"], wallet: [*rows[:-1], first]}}


def wrong_wallet(found: Found) -> Found:
    first, *rest = found["lists"]["wallets"]["rows"]
    return with_rows(found, "wallets", [{**first, "balance": first["balance"] + 1}, *rest])


FAULTS: dict[Callable[[Found], Found], Comparison] = {
    lost_decision: test_decisions.test_every_answered_question_has_its_record,
    invented_decision: test_decisions.test_nothing_is_recorded_that_nobody_asked,
    unmarked_import: test_decisions.test_only_the_decisions_of_an_imported_log_are_marked,
    turned_decision: test_decisions.test_every_decision_is_what_the_terms_say,
    exceeded_limit: test_decisions.test_every_limit_lets_through_as_many_as_it_grants_in_a_day_and_no_more,
    charged_twice: test_money.test_every_allowed_access_with_a_price_is_in_the_ledger_once_and_nothing_else_is,
    forgotten_price: test_money.test_every_price_and_every_adjustment_is_in_the_ledger_once_and_nothing_else_is,
    forgotten_spend: test_wallets.test_every_entry_of_a_wallet_is_there_once_and_nothing_else_is,
    uncovered_access: test_wallets.test_a_wallet_pays_for_a_decision_if_and_only_if_it_covers_it,
    unspent_grant: test_wallets.test_every_grant_has_left_what_was_not_spent_of_it_in_the_order_of_spending,
    wrong_wallet: test_wallets.test_every_wallet_has_the_balance_of_its_entries,
    fee_at_an_hour_of_utc: test_money.test_every_fee_is_charged_once_at_its_hour_on_the_publishers_clock,
    wrong_balance: test_money.test_every_statement_adds_up_its_month_and_carries_its_balance_on,
    truncated_file: lambda month: test_exports.test_every_csv_export_has_every_row_of_the_list_in_its_order(
        month, "ledger"
    ),
    forgotten_event: test_happenings.test_every_change_left_one_event_and_nothing_else_did,
    lost_delivery: lambda month: test_happenings.test_every_receiver_got_every_event_that_it_asked_for(month, 1),
    page_let_through: test_edge.test_the_publishers_server_was_asked_for_what_was_allowed_and_nothing_else,
    miscounted_report: lambda month: test_figures.test_every_usage_report_counts_what_was_decided(month, 0),
    misread_revenue: lambda month: test_figures.test_every_revenue_report_adds_up_what_was_sold_charged_and_given_back(
        month, 0
    ),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_of_the_service_fails_the_comparison_that_is_about_it(month, fault):
    with pytest.raises(AssertionError):
        FAULTS[fault](Expected(month.diary, fault(dict(month.found))))
