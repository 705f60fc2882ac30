"""Refills of days and months are counted on the wall clock of a time zone."""

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from accounts.plans.services import update_account
from analytics.models import Wallet
from analytics.wallets.book import occurrence, period_after
from kit.values.calendar import Months, add_days, add_months, months_until, zone_named
from kit.values.time_zones import zone_names
from licensing.licenses.models import License
from operators.customers.quotas import Quota
from tests import factories
from tests.clock import clock  # noqa: F401 - a fixture

BERLIN = zone_named("Europe/Berlin")
NEW_YORK = zone_named("America/New_York")


def in_berlin(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=BERLIN).astimezone(UTC)  # type: ignore[arg-type,misc]


def test_a_licence_gets_one_refill_for_each_of_its_months():
    for begin, end, number in [
        ((2026, 12, 1), (2027, 1, 1), 1), ((2026, 10, 1), (2027, 1, 1), 3), ((2027, 3, 1), (2027, 4, 1), 1),
        ((2026, 7, 1), (2027, 7, 1), 12),
    ]:  # fmt: skip
        anchor = moment = in_berlin(*begin)
        refills = []
        while moment < in_berlin(*end):
            refills.append(moment)
            moment = period_after(anchor, "month", moment, BERLIN)
        assert (len(refills), moment) == (number, in_berlin(*end))
        assert {(one.astimezone(BERLIN).day, one.astimezone(BERLIN).hour) for one in refills} == {(1, 0)}


def test_days_keep_their_hour_when_the_clocks_change():
    assert occurrence(in_berlin(2026, 10, 24), "day", 2, BERLIN) == in_berlin(2026, 10, 26)
    assert occurrence(in_berlin(2026, 10, 24), "week", 1, BERLIN) == in_berlin(2026, 10, 31)
    assert add_days(in_berlin(2027, 3, 27, 2, 30), 1, BERLIN) == datetime(2027, 3, 28, 1, 30, tzinfo=UTC)  # skipped


def test_months_are_right_in_every_zone_on_every_day_of_four_years():
    """Add months and find the month of each day in all zones whose clocks change."""
    days = [datetime(2024, 1, 1) + timedelta(days=number) for number in range(4 * 366)]  # noqa: DTZ001
    offsets = set()
    for name in sorted(zone_names()):
        zone = ZoneInfo(name)
        rules = tuple(zone.utcoffset(day) for day in days[::7])
        if len(set(rules)) == 1 or rules in offsets:
            continue
        offsets.add(rules)
        months = Months(zone)
        for day in days:
            begin = day.replace(tzinfo=zone).astimezone(UTC)
            later = add_months(begin, 1, zone)
            local = later.astimezone(zone)
            number = local.year * 12 + local.month - begin.astimezone(zone).year * 12 - begin.astimezone(zone).month
            hour = begin.astimezone(zone).hour
            is_skipped = zone.utcoffset(local.replace(hour=hour, minute=0, tzinfo=None)) != local.utcoffset()
            assert number == 1, (name, day)
            assert local.day == min(day.day, monthrange(local.year, local.month)[1]), (name, day)
            assert local.hour == hour or is_skipped, (name, day)
            assert months_until(begin, later, zone) == 1, (name, day)
            first = months.start(day)
            assert first <= begin < months.following(begin), (name, day)
            assert months.month_of(begin) == months.month_of(first) == date(day.year, day.month, 1), (name, day)
            assert months.month_of(first - timedelta(microseconds=1)) < months.month_of(first), (name, day)
    assert len(offsets) > 20


def test_a_change_of_zone_moves_only_months_that_have_not_begun():
    december = datetime(2026, 12, 15, tzinfo=UTC)
    moved = Months(BERLIN).changed_to(NEW_YORK, december)
    assert moved.start(date(2026, 12, 1)) == in_berlin(2026, 12, 1)
    assert moved.start(date(2027, 1, 1)) == datetime(2027, 1, 1, 5, tzinfo=UTC)
    assert moved.month_of(in_berlin(2027, 1, 1, 3)) == date(2026, 12, 1), "January has not begun in New York"
    assert moved.start(date(2027, 2, 1)) == datetime(2027, 2, 1, 5, tzinfo=UTC)
    begun = Months(BERLIN).changed_to(NEW_YORK, in_berlin(2027, 1, 1, 2))
    assert begun.start(date(2027, 1, 1)) == in_berlin(2027, 1, 1)
    assert begun.month_of(in_berlin(2027, 1, 1, 1)) == date(2027, 1, 1)
    now = datetime(2027, 1, 1, 1, tzinfo=UTC)  # still December in New York, January in Berlin
    ahead = Months(NEW_YORK).changed_to(BERLIN, now)
    assert (ahead.start(date(2027, 1, 1)), ahead.month_of(now)) == (now, date(2027, 1, 1))
    again = moved.changed_to(UTC, december + timedelta(days=1))
    assert again.start(date(2026, 12, 1)) == in_berlin(2026, 12, 1)
    assert again.start(date(2027, 1, 1)) == datetime(2027, 1, 1, tzinfo=UTC)


def test_months_end_early_where_days_lack_and_do_not_drift():
    anchor = datetime(2028, 1, 31, 12, tzinfo=UTC)
    assert [add_months(anchor, months, UTC).day for months in range(4)] == [31, 29, 31, 30]
    assert add_months(datetime(2028, 2, 29, tzinfo=UTC), 12, UTC) == datetime(2029, 2, 28, tzinfo=UTC)
    assert add_months(in_berlin(2026, 3, 31), -1, BERLIN) == in_berlin(2026, 2, 28)
    with pytest.raises(ValueError, match="year"):
        add_months(datetime(9999, 12, 1, tzinfo=UTC), 1, UTC)


@pytest.fixture
def refilled(api, clock):  # noqa: F811
    """Return a function that opens a wallet of a monthly refill in October."""
    clock.set("2026-10-01T12:00:00+00:00")
    assert api.post("/v1/requesters", {"id": "org_z"}).status == 201

    def open_wallet(anchor):
        refill = {"amount": 10, "every": "month", "anchor": anchor}
        return api.post("/v1/wallets", {"requesterId": "org_z", "unit": "EUR", "refill": refill})

    return open_wallet


def test_refills_of_the_api_count_in_the_account_s_time_zone(api, account, clock, refilled):  # noqa: F811
    update_account(account, {"time_zone": "Europe/Berlin"})
    made = refilled("2026-10-01T00:00:00+02:00")
    path = f"/v1/wallets/{made['id']}"
    assert made["nextRefillAt"] == "2026-10-31T23:00:00.000000Z"  # after the clocks change
    assert Wallet.objects.get().refill_zone == "Europe/Berlin"
    december = {"amount": 10, "every": "month", "anchor": "2026-12-01T00:00:00+01:00"}
    assert api.patch(path, {"refill": december})["nextRefillAt"] == "2026-11-30T23:00:00.000000Z"
    clock.set("2026-12-01T12:00:00+00:00")
    assert api.get(path)["nextRefillAt"] == "2026-12-31T23:00:00.000000Z"


def test_an_offset_names_the_moment_of_the_anchor_only(refilled):
    assert refilled("2026-10-01T00:00:00+02:00")["nextRefillAt"] == "2026-10-30T22:00:00.000000Z"
    assert Wallet.objects.get().refill_zone is None


def test_another_time_zone_of_the_account_moves_refills_that_are_due_later(api, account, clock, refilled):  # noqa: F811
    path = f"/v1/wallets/{refilled('2026-10-01T00:00:00Z')['id']}"
    update_account(account, {"time_zone": "Asia/Tokyo"})
    moved = api.get(path)
    assert (moved["balance"], moved["nextRefillAt"]) == (10, "2026-10-31T15:00:00.000000Z")
    assert moved["refill"]["anchor"] == "2026-09-30T15:00:00.000000Z", "midnight in Tokyo"
    assert api.patch(path, {"refill": moved["refill"]})["nextRefillAt"] == moved["nextRefillAt"]
    clock.set("2026-11-01T00:00:00+00:00")
    assert api.get(path)["nextRefillAt"] == "2026-11-30T15:00:00.000000Z"
    entries = api.get(f"{path}/entries")["data"]
    assert sorted(entry["amount"] for entry in entries) == [-10, 10, 10], "a refill for each month"


@pytest.mark.django_db
def test_a_quota_of_the_admin_counts_in_the_operator_s_zone(account, clock):  # noqa: F811
    clock.set("2026-11-30T23:00:00+00:00")
    held = factories.license(account, starts_at=in_berlin(2026, 12, 1), expires_at=in_berlin(2027, 1, 1))
    with timezone.override("Europe/Berlin"):
        wallet = Quota(100).open_wallet(License.objects.get(pk=held.pk))
    assert wallet.refill_zone == "Europe/Berlin"
    assert wallet.next_refill_at == in_berlin(2027, 1, 1)


@pytest.mark.django_db
def test_a_quota_of_the_admin_counts_in_the_account_s_zone_if_it_has_chosen_one(account, clock):  # noqa: F811
    update_account(account, {"time_zone": "Asia/Tokyo"})
    held = factories.license(account)
    with timezone.override("Europe/Berlin"):
        assert Quota(100).open_wallet(License.objects.get(pk=held.pk)).refill_zone == "Asia/Tokyo"


@pytest.mark.django_db
def test_a_merge_moves_the_zone_with_the_refill(api, account):
    refill = {"amount": Decimal(1), "every": "month", "zone": "Asia/Tokyo"}
    for name in ("org_a", "org_b"):
        assert api.post("/v1/requesters", {"id": name}).status == 201
    factories.wallet(account, "USD", requester_id="org_a", refill=refill)
    factories.wallet(account, "USD", requester_id="org_b")
    assert api.post("/v1/requesters/org_a/merge", {"into": "org_b"}).status == 200
    assert dict(Wallet.objects.values_list("requester__requester_id", "refill_zone"))["org_b"] == "Asia/Tokyo"
