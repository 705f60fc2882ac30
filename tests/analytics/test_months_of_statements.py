import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from accounts.plans.services import update_account
from analytics.models import ClosedStatement, Statement, StatementLine
from analytics.payments.services import record_payment
from analytics.statements.checking import find_differences
from analytics.statements.closing import close_due
from tests import ledger
from tests.clock import clock  # noqa: F401 - a fixture

BEGIN = datetime(2026, 10, 20, tzinfo=UTC)


def expected(account, moments):
    return Counter(account.months.month_of(moment) for moment in moments)


def stated():
    return Counter({line.month: line.entries for line in StatementLine.objects.all()})


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("zone", "later"),
    [("Europe/Berlin", "America/New_York"), ("America/New_York", "Europe/Berlin"), ("Asia/Kolkata", "UTC")],
)
def test_entries_are_in_the_months_of_the_calendar(account, clock, zone, later):  # noqa: F811
    chance = random.Random(zone)
    clock.now = BEGIN
    update_account(account, {"time_zone": zone})
    near = [datetime(2026, month, 1, tzinfo=UTC) for month in (11, 12)] + [datetime(2027, 1, 1, tzinfo=UTC)]
    moments = [chance.choice(near) + timedelta(minutes=chance.randint(-1500, 1500)) for _ in range(200)]
    org = ledger.requester(account)
    for moment in moments:
        ledger.add(account, "1", type="usage", occurred_at=moment, created=moment, requester=org)
    account.refresh_from_db()
    assert stated() == expected(account, moments)

    clock.now = datetime(2026, 12, 15, tzinfo=UTC)
    before = {month: count for month, count in stated().items() if month < date(2026, 12, 1)}
    begin = account.months.start(date(2026, 12, 1))
    update_account(account, {"time_zone": later})
    account.refresh_from_db()
    assert stated() == expected(account, moments)
    assert before.items() <= stated().items()
    assert account.months.start(date(2026, 12, 1)) == begin

    clock.now = datetime(2027, 2, 20, tzinfo=UTC)
    open_ = stated()
    assert close_due() == len(open_)
    assert (stated(), find_differences(["statements", "lines"])) == (open_, [])
    closed = dict(ClosedStatement.objects.values_list("month", "decisions"))
    assert closed == dict(open_)


@pytest.mark.django_db
def test_a_month_closes_an_hour_after_its_end_in_the_account_s_zone(account, clock):  # noqa: F811
    clock.now = BEGIN
    update_account(account, {"time_zone": "America/New_York"})
    clock.now = datetime(2026, 11, 15, tzinfo=UTC)
    ledger.add(account, "5", created=clock.now, requester=ledger.requester(account))
    clock.now = datetime(2026, 12, 1, 5, 30, tzinfo=UTC)  # 0:30 in New York
    assert close_due() == 0
    clock.now = datetime(2026, 12, 1, 6, 0, tzinfo=UTC)
    assert (close_due(), close_due()) == (1, 0)
    [statement] = Statement.objects.all()
    assert (statement.month, statement.status) == (date(2026, 11, 1), "closed")


@pytest.mark.django_db
def test_months_of_every_length_close_an_hour_after_their_end(account, clock):  # noqa: F811
    clock.now = datetime(2025, 12, 15, tzinfo=UTC)
    update_account(account, {"time_zone": "Europe/Berlin"})
    account.refresh_from_db()
    ledger.add(account, "5", created=datetime(2026, 1, 15, tzinfo=UTC), requester=ledger.requester(account))
    for month in range(2, 13):
        clock.now = account.months.start(date(2026, month, 1)) + timedelta(minutes=59)
        assert close_due() == 0, month
        clock.advance(minutes=1)
        assert close_due() == 1, month


@pytest.mark.django_db
def test_payments_and_credit_count_in_the_same_months(api, account, clock):  # noqa: F811
    clock.now = BEGIN
    update_account(account, {"time_zone": "Europe/Berlin"})
    org = ledger.requester(account)
    clock.now = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)  # 1 December in Berlin
    record_payment(account.pk, {"requester_id": org.requester_id, "amount": Decimal(7), "currency": "USD"})
    wallet = api.post("/v1/wallets", {"requesterId": "org", "unit": "USD"})["id"]
    assert api.post(f"/v1/wallets/{wallet}/grants", {"amount": 3, "kind": "paid"}).status == 201
    [statement] = api.get("/v1/statements")["data"]
    assert (statement["month"], statement["payments"], statement["credits"]["granted"]) == ("2026-12", 7, 3)
    assert len(api.get(f"/v1/statements/{statement['id']}/payments")["data"]) == 1


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no time zones of its own")
def test_a_zone_that_the_database_does_not_know_is_refused(account, monkeypatch):
    monkeypatch.setattr("accounts.plans.models.parse_zone_name", lambda text: text)
    with pytest.raises(ValidationError, match="PostgreSQL"):
        update_account(account, {"time_zone": "Europe/Newtown"})
