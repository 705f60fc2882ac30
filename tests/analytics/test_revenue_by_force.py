import random
from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.analytics.revenue_by_force import CURRENCIES, DAY, EDGES, MICROSECOND, MIDNIGHT, World, compare
from tests.examples import examples


def in_a_zone(moment, chance):
    """Return the same time with a UTC offset."""
    offset = timedelta(minutes=chance.choice([0, 0, 60, -330, 765]))
    local = (moment + offset).replace(tzinfo=None).isoformat()
    sign = "-" if offset < timedelta(0) else "+"
    minutes = abs(offset) // timedelta(minutes=1)
    return f"{local}{sign}{minutes // 60:02}:{minutes % 60:02}"


@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(seed=st.integers(0, 2**32), size=st.sampled_from([1, 5, 40, 150]))
def test_a_report_equals_the_sum_of_its_entries(account, seed, size):
    chance = random.Random(seed)
    with transaction.atomic():
        world = World(account, chance, size)
        for _ in range(4):
            first, last = sorted(chance.sample(EDGES, 2))
            group, currency = chance.choice(["day", "week", "month"]), chance.choice(world.currencies + CURRENCIES)
            query = {"startDate": in_a_zone(first, chance), "endDate": in_a_zone(last, chance), "groupBy": group}
            compare(account, world, query, first, last, group, currency)
        for period, days in (("7d", 7), ("30d", 30)):
            compare(
                account,
                world,
                {"period": period},
                MIDNIGHT - (days - 1) * DAY,
                MIDNIGHT + DAY - MICROSECOND,
                "day",
                chance.choice(CURRENCIES),
            )
        transaction.set_rollback(True)


@pytest.mark.slow
def test_a_report_of_thousands_of_entries_equals_their_sum(account):
    world = World(account, random.Random(20260304), 4000)
    for currency in CURRENCIES:
        start, end = MIDNIGHT - 20 * DAY, MIDNIGHT + DAY - MICROSECOND
        query = {"startDate": str(start.date()), "endDate": str(MIDNIGHT.date()), "groupBy": "week"}
        compare(account, world, query, start, end, "week", currency)
