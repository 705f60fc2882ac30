"""Figures: usage, revenue and item stats equal the model's totals."""

from collections import Counter
from typing import Any

import pytest

from tests.world.evidence import CURRENCIES, FOR_USAGE, WINDOWS
from tests.world.model import money, usage
from tests.world.model.expected import Expected
from tests.world.model.windows import window_of

USAGE_REPORTS = len(WINDOWS) + len(FOR_USAGE) + 1
REVENUE_REPORTS = len(WINDOWS) * len(CURRENCIES)


@pytest.mark.parametrize("number", range(USAGE_REPORTS))
def test_every_usage_report_counts_what_was_decided(month: Expected, number: int) -> None:
    query, found = month.found["usage"][number]
    window = window_of(query, month.now, month.begun)
    assert usage.stripped(found) == usage.usage_report(month.uses, window), query


@pytest.mark.parametrize("number", range(REVENUE_REPORTS))
def test_every_revenue_report_adds_up_what_was_sold_charged_and_given_back(month: Expected, number: int) -> None:
    query, found = month.found["revenue"][number]
    window = window_of(query, month.now, month.begun)
    expected = money.revenue_report(month.bookings, window, query["currency"], month.diary.rates, month.now)
    assert money.stripped(found) == expected, query


def test_the_stats_of_every_item_agree_with_the_usage_report(month: Expected) -> None:
    counted = Counter((use.content, use.allowed) for use in month.uses)
    expected: dict[str, Any] = {
        id_: {
            "totalRequests": counted[id_, True] + counted[id_, False],
            "allowedRequests": counted[id_, True],
            "deniedRequests": counted[id_, False],
        }
        for id_ in month.found["stats"]
    }
    assert month.found["stats"] == expected


@pytest.mark.parametrize("report", ["usage", "revenue"])
def test_no_report_on_whole_days_changes_when_decisions_are_purged(month: Expected, report: str) -> None:
    before = month.found[report]
    assert [one for one in month.found["purged"][report] if one not in before] == []


def test_neither_statements_nor_stats_change_when_decisions_are_purged(month: Expected) -> None:
    assert month.found["purged"]["statements"] == month.rows("statements")
    assert month.found["purged"]["stats"] == month.found["stats"]


def test_only_the_decisions_of_months_that_are_over_are_purged(month: Expected) -> None:
    current = f"{month.now:%Y-%m}"
    kept = [row["id"] for row in month.rows("decisions") if row["created"] >= current]
    assert [row["id"] for row in month.found["purged"]["decisions"]] == kept


def test_the_archive_has_the_decisions_of_months_that_are_over_until_they_are_purged(month: Expected) -> None:
    current = f"{month.now:%Y-%m}"
    closed = [row for row in month.rows("decisions") if row["created"] < current]
    told = {row["id"]: (row["contentId"], row["requester"]["id"], row["allowed"], row.get("reason")) for row in closed}
    found = {
        row["id"]: (row["content"], row["requester_id"], row["allowed"], row["reason"])
        for row in month.found["archive"]
    }
    assert len(closed) > 250
    assert {id_: found.get(id_) for id_ in told} == told
    assert month.found["archive after the purge"] == []
