"""Refills of days and months are counted on the wall clock of the zone in which they were anchored."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.utils import timezone

from analytics.models import Wallet
from analytics.wallets import services
from analytics.wallets.book import occurrence, period_after
from kit.values.calendar import add_days, add_months, offset_in, zone_named
from licensing.licenses.models import License
from operators.customers.quotas import Quota
from tests import factories
from tests.clock import clock  # noqa: F401 - a fixture

BERLIN = zone_named("Europe/Berlin")


def in_berlin(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=BERLIN).astimezone(UTC)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("begin", "end", "number"),
    [
        ((2026, 12, 1), (2027, 1, 1), 1),
        ((2026, 10, 1), (2027, 1, 1), 3),
        ((2027, 3, 1), (2027, 4, 1), 1),
        ((2026, 7, 1), (2027, 7, 1), 12),
    ],
)
def test_a_licence_gets_one_refill_for_each_of_its_months(begin, end, number):
    anchor = moment = in_berlin(*begin)
    refills = []
    while moment < in_berlin(*end):
        refills.append(moment)
        moment = period_after(anchor, "month", moment, BERLIN)
    assert len(refills) == number
    assert moment == in_berlin(*end)
    assert {(one.astimezone(BERLIN).day, one.astimezone(BERLIN).hour) for one in refills} == {(1, 0)}


def test_days_keep_their_hour_when_the_clocks_change():
    assert occurrence(in_berlin(2026, 10, 24), "day", 2, BERLIN) == in_berlin(2026, 10, 26)
    assert occurrence(in_berlin(2026, 10, 24), "week", 1, BERLIN) == in_berlin(2026, 10, 31)
    assert add_days(in_berlin(2027, 3, 27, 2, 30), 1, BERLIN) == datetime(2027, 3, 28, 1, 30, tzinfo=UTC)  # skipped


def test_months_end_early_where_days_lack_and_do_not_drift():
    anchor = datetime(2028, 1, 31, 12, tzinfo=UTC)
    assert [add_months(anchor, months, UTC).day for months in range(4)] == [31, 29, 31, 30]
    assert add_months(datetime(2028, 2, 29, tzinfo=UTC), 12, UTC) == datetime(2029, 2, 28, tzinfo=UTC)
    assert add_months(in_berlin(2026, 3, 31), -1, BERLIN) == in_berlin(2026, 2, 28)
    with pytest.raises(ValueError, match="year"):
        add_months(datetime(9999, 12, 1, tzinfo=UTC), 1, UTC)


@pytest.mark.parametrize(
    ("text", "offset"),
    [("2026-10-01T00:00:00+02:00", "+02:00"), ("2026-10-01T00:00:00-09:30", "-09:30"),
     ("2026-10-01T00:00:00Z", None), ("2026-10-01T00:00:00+00:00", None), ("2026-10-01", None)],
)  # fmt: skip
def test_the_offset_of_an_anchor_is_its_zone(text, offset):
    assert offset_in(text) == offset
    moment = datetime(2026, 10, 1, tzinfo=zone_named(offset))
    assert offset is None or moment == datetime.fromisoformat(text)


@pytest.mark.django_db
def test_the_offset_of_the_anchor_counts_and_reading_it_back_keeps_it(api, clock):  # noqa: F811
    clock.set("2026-10-01T12:00:00+00:00")
    assert api.post("/v1/requesters", {"id": "org_z"}).status == 201
    refill = {"amount": 10, "every": "month", "anchor": "2026-10-01T00:00:00+02:00"}
    made = api.post("/v1/wallets", {"requesterId": "org_z", "unit": "EUR", "refill": refill})
    assert made["nextRefillAt"] == "2026-10-31T22:00:00.000000Z"
    again = api.patch(f"/v1/wallets/{made['id']}", {"refill": made["refill"]})
    assert again["nextRefillAt"] == made["nextRefillAt"]
    assert Wallet.objects.get().refill_zone == "+02:00"
    moved = api.patch(f"/v1/wallets/{made['id']}", {"refill": {**refill, "anchor": "2026-10-02T00:00:00Z"}})
    assert moved["nextRefillAt"] == "2026-10-02T00:00:00.000000Z"
    assert Wallet.objects.get().refill_zone is None


@pytest.mark.django_db
def test_a_quota_of_the_admin_counts_in_the_operator_s_zone(account, clock):  # noqa: F811
    clock.set("2026-11-30T23:00:00+00:00")
    held = factories.license(account, starts_at=in_berlin(2026, 12, 1), expires_at=in_berlin(2027, 1, 1))
    with timezone.override("Europe/Berlin"):
        wallet = Quota(100).open_wallet(License.objects.get(pk=held.pk))
    assert wallet.refill_zone == "Europe/Berlin"
    assert wallet.next_refill_at == in_berlin(2027, 1, 1)


@pytest.mark.django_db
def test_a_merge_moves_the_zone_with_the_refill(api, account):
    refill: services.Refill = {"amount": Decimal(1), "every": "month", "zone": "Asia/Tokyo"}
    for name in ("org_a", "org_b"):
        assert api.post("/v1/requesters", {"id": name}).status == 201
    factories.wallet(account, "USD", requester_id="org_a", refill=refill)
    factories.wallet(account, "USD", requester_id="org_b")
    assert api.post("/v1/requesters/org_a/merge", {"into": "org_b"}).status == 200
    assert dict(Wallet.objects.values_list("requester__requester_id", "refill_zone"))["org_b"] == "Asia/Tokyo"
