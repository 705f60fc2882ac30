import re
from datetime import datetime
from decimal import Decimal

import pytest
from django.urls import reverse

from accounts.plans.services import update_account
from analytics.models import LedgerEntry, Statement
from operators.base.links import list_url
from tests import ledger
from tests.admin.headline import listed

OVERVIEW = reverse("admin:index")


@pytest.fixture
def booked(account, clock):
    """Entries around the ends of October and November in Berlin."""
    clock.set("2026-09-15T12:00:00Z")
    update_account(account, {"time_zone": "Europe/Berlin", "currency": "EUR"})
    org = ledger.requester(account)
    amounts = {
        "2026-10-31T22:30:00+00:00": "1",  # 23:30 on 31 October
        "2026-10-31T23:30:00+00:00": "10",
        "2026-11-15T12:00:00+00:00": "100.10",
        "2026-11-30T22:59:59+00:00": "1000",
        "2026-11-30T23:00:00+00:00": "10000",
    }
    for moment, amount in amounts.items():
        at = datetime.fromisoformat(moment)
        ledger.add(account, amount, currency="EUR", occurred_at=at, created=at, requester=org, description="Sale")
    clock.set("2026-12-03T12:00:00Z")


def html_before(reply):
    """Return the period with which revenue is compared."""
    return re.search(r"<dt>Against (.*?)</dt>", reply.content.decode())[1]


def test_overview_ledger_and_statements_of_each_period_agree(booked, admin, api):
    for period in ("2026-11", "last-month"):
        reply = admin.get(f"{OVERVIEW}?period={period}")
        html = re.sub(r"\s+", " ", reply.content.decode())
        assert reply.context["revenue"].report.total == Decimal("1110.10"), period
        assert "2026-11-01 to 2026-11-30, days of Europe/Berlin" in html
        assert (html_before(reply), reply.context["revenue"].report.before) == ("2026-10", Decimal(1))
        for name in ("counts_in", "booked_in"):
            entries = listed(admin, list_url(LedgerEntry, **{name: period}))
            assert f"{sum(entry.amount for entry in entries):.2f}" == "1110.10", name
        [statement] = listed(admin, list_url(Statement, month=period))
        assert f"{statement.total:.2f}" == "1110.10"

    for period, total in (("month", "10000"), ("2026-Q4", "11111.10"), ("2026", "11111.10")):
        reply = admin.get(f"{OVERVIEW}?period={period}")
        assert reply.context["revenue"].report.total == Decimal(total)
        assert html_before(reply) == {"month": "2026-11", "2026-Q4": "2026-Q3", "2026": "2025"}[period]
        assert f'<option value="{period}" selected' in reply.content.decode()
        assert sum(entry.amount for entry in listed(admin, list_url(LedgerEntry, booked_in=period))) == sum(
            statement.total for statement in listed(admin, list_url(Statement, month=period))
        )
    assert "There is no such period" in admin.get(f"{OVERVIEW}?period=2026-13").content.decode()
    assert len(listed(admin, list_url(LedgerEntry, booked_in="2026-13"))) == 5
    months = {row["month"]: row["total"] for row in api.get("/v1/statements")["data"]}
    assert months == {"2026-10": 1, "2026-11": 1110.1, "2026-12": 10000}
    report = api.get(
        "/v1/analytics/revenue?startDate=2026-11-01&endDate=2026-11-30&timeZone=Europe/Berlin&currency=EUR"
    )
    assert report["summary"]["total"] == 1110.1
