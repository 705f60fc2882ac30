"""Counts visits from recorded decisions, once their minute is over.

Deciding a page therefore writes nothing for this. Reports read decisions that are not counted yet directly, so that
every visit appears exactly once.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta

from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import TruncDate
from django.utils import timezone

from analytics.events.partitions import first_id
from analytics.models import AccessEvent
from kit.storage.adding import add_numbers
from kit.storage.sqlite_turns import turn_to_write
from kit.values import ids
from licensing.visits.figures import COUNTS, NUMBERS, Visits
from licensing.visits.models import VisitorDay, VisitsCounted
from licensing.visits.pages import keep_pages, page_visits_in, referrals_in

EVERY = timedelta(minutes=1)
GRACE = timedelta(minutes=1)  # for decisions that are still being recorded
# One transaction counts at most this. On SQLite, other writers then wait for a second at most. PostgreSQL lets them
# write meanwhile, and the more decisions a step has, the more of them add to the same row.
STEP = timedelta(hours=1)
MOST_DECISIONS = 20_000 if connection.vendor == "postgresql" else 2_000
STEPS = 600  # most steps per run; the next run continues
# how far back the first run starts, when older processes that did not count may still have recorded visits
BEGINNING = timedelta(minutes=10)

Key = tuple[str, date, int, str]


def count_visits() -> int:
    """Count visits of completed minutes; returns the number of steps. Only one of several processes counts a step."""
    end = timezone.now().replace(second=0, microsecond=0) - GRACE
    return sum(1 for _ in steps(end))


def steps(end: datetime) -> Iterator[datetime]:
    for _ in range(STEPS):
        begin = counted_until()
        if begin is None:
            VisitsCounted.objects.get_or_create(pk=1, defaults={"until": end - BEGINNING})
            continue
        until = end_of_step(begin, min(begin + STEP, end))
        if until <= begin:
            return
        if count_stretch(begin, until):
            yield until


def end_of_step(begin: datetime, end: datetime) -> datetime:
    """Return the end of a step with about MOST_DECISIONS; more only if they were created in the same millisecond.

    Ids have milliseconds, and `decisions` filters by them.
    """
    made = decisions(begin, end).order_by("pk").values_list("created", flat=True)
    further = made[MOST_DECISIONS : MOST_DECISIONS + 1].first()
    if further is None:
        return end
    moment = further.replace(microsecond=further.microsecond // 1_000 * 1_000)
    return moment if moment > begin else end


def counted_until() -> datetime | None:
    return VisitsCounted.objects.values_list("until", flat=True).first()


def count_stretch(begin: datetime, end: datetime) -> bool:
    """Count the decisions from `begin` until before `end`. Returns False if another process did so first.

    Reads before locking, because decisions of past minutes change only by imports, which `imports` shows.
    """
    counted = VisitsCounted.objects.filter(until=begin).first()
    if counted is None:
        return False
    events = decisions(begin, end)
    found, pages, referrals = visits_in(events), page_visits_in(events), referrals_in(events)
    with turn_to_write(), transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT set_config('synchronous_commit', 'off', true)")  # a lost count is repeated
        if not VisitsCounted.objects.filter(until=begin, imports=counted.imports).update(until=end):
            return False
        keep(found)
        keep_pages(pages, referrals)
    return True


def decisions(begin: datetime, end: datetime) -> QuerySet[AccessEvent]:
    """Return the decisions at the edge in this period. Also filters by id, because partitions are by id."""
    first, last = (ids.encode("dec", first_id(moment).bytes) for moment in (begin, end))
    made = AccessEvent.objects.filter(pk__gte=first, pk__lt=last, created__gte=begin, created__lt=end)
    return made.filter(facts__has_key="identifiedBy")


def visits_in(events: QuerySet[AccessEvent]) -> dict[Key, Visits]:
    rows = (
        events.order_by()
        .values_list("account_id", TruncDate("created"), "requester_id", KT("facts__identifiedBy"))
        .annotate(**COUNTS)
    )
    return {tuple(row[:4]): Visits(*row[4:]) for row in rows}


def keep(found: dict[Key, Visits]) -> None:
    """Add the counts to the rows of VisitorDay. The caller holds the lock."""
    add_numbers(
        VisitorDay,
        ("account", "day", "requester", "identified_by"),
        NUMBERS,
        [(*key, one.allowed, one.observed, one.denied, one.last_seen) for key, one in sorted(found.items())],
        latest="last_seen",
    )
