import random
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytics.models import ExchangeRate
from tests import factories, ledger
from tests.analytics.revenue_by_force import CURRENCIES, DAY, MICROSECOND, MIDNIGHT, World, compare

YEARS = {"startDate": "2024-05-10", "endDate": "2026-02-20"}
# Starts of months and years, and times within days.
MOMENTS = [
    datetime(2024, 11, 1, tzinfo=UTC), datetime(2024, 11, 17, 5, 30, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC),
    datetime(2025, 2, 28, 23, 59, 59, 999999, tzinfo=UTC), datetime(2025, 8, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(2025, 9, 1, tzinfo=UTC), datetime(2025, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(2026, 1, 15, 12, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC),
]  # fmt: skip


class LongWorld(World):
    """Entries over 530 days, of 40 items and requesters. Rates vary by a tenth (tight bounds) or wildly."""

    days, many = 530, 40
    moments = [moment + k * MICROSECOND for moment in MOMENTS for k in (-1, 0, 1)]

    def publish(self):
        swing = self.chance.choice([20, 1_000_000])
        rates, day = {}, date(2022, 1, 1)
        while day <= MIDNIGHT.date():
            for number, currency in enumerate(CURRENCIES[1:], 1):
                rates[currency, day] = str(Decimal(number * 200 + self.chance.randint(1, swing)).scaleb(-2))
            day += self.chance.choice([1, 1, 3, 7]) * DAY
        ExchangeRate.objects.bulk_create(
            ExchangeRate(currency=currency, day=day, rate=rate) for (currency, day), rate in rates.items()
        )
        return {key: Fraction(rate) for key, rate in rates.items()}


@pytest.mark.slow
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(seed=st.integers(0, 2**32), size=st.sampled_from([8, 60, 250]))
def test_a_report_of_many_months_equals_the_sum_of_its_entries(account, seed, size):
    chance = random.Random(seed)
    with transaction.atomic():
        world = LongWorld(account, chance, size)
        for _ in range(3):
            first, last = chance.choice(world.moments[:9]), chance.choice(world.moments[12:])
            query = {"startDate": first.isoformat(), "endDate": last.isoformat(), "groupBy": "month"}
            compare(account, world, query, first, last, "month", chance.choice(CURRENCIES))
        year = MIDNIGHT - 364 * DAY
        compare(
            account, world, {"period": "year"}, year, MIDNIGHT + DAY - MICROSECOND, "day", chance.choice(CURRENCIES)
        )
        transaction.set_rollback(True)


@pytest.fixture
def items(account):
    """Return twelve items by id."""
    return sorted((factories.content(account) for _ in range(12)), key=lambda item: item.pk)


@pytest.fixture
def swing():
    """Set rates: a dollar is half a euro in January, and two euros in June."""
    for day, rate in (((2025, 1, 15), "2"), ((2025, 6, 15), "0.5")):
        ExchangeRate.objects.create(day=date(*day), currency="USD", rate=rate)


def earn(item, amount, day, **fields):
    ledger.add(item.account, amount, content=item, occurred_at=datetime(*day, 12, tzinfo=UTC), **fields)


def best(api, **query):
    """Return ids and amounts of `byContent`, in euros."""
    body = api.get("/v1/analytics/revenue", **{**YEARS, "currency": "EUR", "groupBy": "month", **query}).body
    return [(one["id"], one["revenue"]) for one in body["byContent"]]


def euros(**fields):
    return {"currency": "EUR", **fields}


def test_equals_at_the_tenth_place_are_listed_by_id(api, items):
    for number, item in enumerate(reversed(items)):
        earn(item, "5", (2025, 1 + number % 12, 3), **euros())
    earn(items[11], "1", (2025, 5, 1), **euros())
    assert best(api) == [(items[11].pk, 6), *((item.pk, 5) for item in items[:9])]


def test_rates_of_each_day_decide_and_not_amounts(api, items, swing):
    for number, item in enumerate(items[:10]):
        earn(item, str(100 + number), (2025, 1, 15))
    earn(items[10], "40", (2025, 6, 15))
    earn(items[11], "26.1", (2025, 6, 15))
    order = [10, 9, 8, 7, 6, 5, 11, 4, 3, 2]
    assert [id_ for id_, _ in best(api)] == [items[number].pk for number in order]
    assert best(api)[6] == (items[11].pk, 52.2)


def test_a_refund_at_a_high_rate_moves_an_item_off_the_list(api, items, swing):
    for item in items[:9]:
        earn(item, "200", (2025, 1, 15))
    earn(items[9], "100", (2025, 1, 15))
    earn(items[9], "-30", (2025, 6, 15))
    earn(items[10], "30", (2025, 4, 2), **euros())
    assert best(api) == [*((item.pk, 100) for item in items[:9]), (items[10].pk, 30)]


def test_a_refund_at_a_low_rate_keeps_an_item_on_the_list(api, items, swing):
    for item in items[:10]:
        earn(item, "90", (2025, 4, 2), **euros())
    earn(items[10], "100", (2025, 4, 2), **euros())
    earn(items[10], "-10", (2025, 1, 15))
    earn(items[11], "1", (2025, 6, 15))
    assert best(api) == [(items[10].pk, 95), *((item.pk, 90) for item in items[:9])]


def test_a_loss_is_listed_where_fewer_than_ten_earned(api, items):
    for item in items[:3]:
        earn(item, "7", (2025, 4, 2), **euros())
    earn(items[4], "-7", (2025, 4, 2), **euros())
    assert best(api) == [*((item.pk, 7) for item in items[:3]), (items[4].pk, -7)]


def test_entries_of_the_same_months_before_and_after_the_window_count_for_nobody(api, items):
    for item in items[:9]:
        earn(item, "7", (2025, 4, 2), **euros())
    earn(items[9], "900", (2024, 5, 9), **euros())
    earn(items[10], "900", (2026, 2, 21), **euros())
    earn(items[11], "-900", (2025, 4, 2), **euros())
    assert best(api) == [*((item.pk, 7) for item in items[:9]), (items[11].pk, -900)]


def test_small_change_of_one_currency_is_no_match_for_another(api, items):
    ExchangeRate.objects.create(day=date(2025, 4, 2), currency="JPY", rate="160")
    for number, item in enumerate(items):
        code = "JPY" if number < 6 else "EUR"
        earn(item, "1600", (2025, 4, 2), currency=code)
    assert best(api) == [*((item.pk, 1600) for item in items[6:]), *((item.pk, 10) for item in items[:4])]
