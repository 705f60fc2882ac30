"""Generates the demo account's past visits; each check is decided and recorded as usual."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, time, timedelta
from math import cos, pi
from random import Random

from accounts.models import Account
from accounts.plans.epochs import current_epoch
from analytics.recording import recorder
from analytics.recording.entries import Entry
from kit.values import ids
from licensing.access.check_values import Check
from licensing.access.decisions import decide_checks
from licensing.access.lookup.items import find_items
from licensing.access.lookup.requesters import keep_requesters
from licensing.access.subjects import LookupResult
from licensing.demo.story import CUSTOMERS, Customer
from licensing.policies.facts import GivenFacts

VISITS_PER_DAY = 20
# Relative traffic by hour (from midnight UTC) and by weekday (from Monday).
HOURS = (1, 1, 1, 1, 1, 2, 4, 7, 10, 12, 12, 11, 9, 10, 12, 11, 10, 8, 6, 5, 4, 3, 2, 1)
WEEKDAYS = (1.1, 1.2, 1.2, 1.1, 1.0, 0.5, 0.4)
SURGE = (0.6, 0.66)  # start and end of a crawler's surge, as fractions of the demo's time
CRAWLER = "bot_gleaner"


def record_visits(
    account: Account,
    names: Sequence[str],
    random: Random,
    begin: datetime,
    end: datetime,
    progress: Callable[[int, int], object],
) -> None:
    """Decide and record visits from `begin` to `end`, day by day. `names` are the items' externalIds."""
    items = find_items(account.pk, [("externalId", name) for name in names])
    requesters = keep_requesters(account.pk, {customer.id: customer.name for customer in CUSTOMERS})
    key = ids.id_to_hex("acc", account.pk)
    lookup = LookupResult(current_epoch(account.pk), items, requesters)
    days = (end.date() - begin.date()).days + 1
    for day_index in range(days):
        midnight = datetime.combine(begin.date() + timedelta(days=day_index), time.min, begin.tzinfo)
        entries: list[Entry] = []
        for moment, checks in visits_of_day(random, names, midnight, day_index / days):
            if begin <= moment < end:
                entries += decide_checks(checks, lookup, key, moment).entries
        while entries:
            # Decisions that belong to a rate limit's next window are recorded in the next round, because windows only
            # move forwards.
            outcomes = recorder.record(entries)
            late = [entry for entry, outcome in zip(entries, outcomes, strict=True) if not outcome.is_stored]
            if len(late) == len(entries):
                raise RuntimeError("None of the decisions can be recorded.")
            entries = late
        progress(day_index + 1, days)


def visits_of_day(
    random: Random, names: Sequence[str], midnight: datetime, elapsed_fraction: float
) -> Iterator[tuple[datetime, list[Check]]]:
    """Yield a day's visits in order of time. `elapsed_fraction` is that of the demo's time before this day."""
    season = 1 + 0.25 * cos(2 * pi * (midnight.month - 10) / 12)  # highest in autumn, lowest in spring
    growth = 0.7 + 0.6 * elapsed_fraction
    count = round(VISITS_PER_DAY * WEEKDAYS[midnight.weekday()] * season * growth * random.uniform(0.85, 1.15))
    hours = random.choices(range(24), HOURS, k=count)
    moments = sorted(midnight + timedelta(hours=hour, microseconds=random.randrange(3_600_000_000)) for hour in hours)
    surging = SURGE[0] <= elapsed_fraction < SURGE[1]
    weights = [customer.weight * (8 if surging and customer.id == CRAWLER else 1) for customer in CUSTOMERS]
    # A few items are requested much more often than the others
    popularity = [1 / (rank + 3) for rank in range(len(names))]
    for moment in moments:
        [customer] = random.choices(CUSTOMERS, weights)
        chosen = random.choices(names, popularity, k=random.randint(1, customer.burst))
        yield moment, [build_check(customer, name, random) for name in chosen]


def build_check(customer: Customer, external_id: str, random: Random) -> Check:
    permission = random.choice(customer.permissions)
    identities = {
        "licenseType": customer.vouched,
        "hasValidLicense": customer.vouched is not None,
        "ip": f"198.51.100.{random.randint(1, 254)}",
        "userAgent": customer.user_agent,
    }
    return Check(
        selector=("externalId", external_id),
        requester_id=customer.id,
        requester_name=customer.name,
        permission=permission,
        given=GivenFacts.from_record({name: value for name, value in identities.items() if value}),
    )
