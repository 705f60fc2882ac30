"""Counts visits from recorded decisions, once their minute is over.

Deciding a page therefore writes nothing for this. Reports read decisions that are not counted yet directly, so that
every visit appears exactly once.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import Account
from analytics.events.partitions import first_decision_id
from analytics.models import AccessEvent
from kit.storage.reading import committed_until
from kit.storage.sqlite_turns import rows_at_a_time
from kit.storage.unsynced import unsynced
from licensing.visits.models import VisitsCounted
from licensing.visits.usage import groups_in, store_usage, tally_visits

RUN_INTERVAL = timedelta(minutes=1)
GRACE = timedelta(minutes=1)  # from a decision's time to the transaction that records it
# One transaction counts at most this. On SQLite, other writers then wait for a second at most. PostgreSQL lets them
# write meanwhile, and the more decisions a step has, the more of them add to the same row.
STEP = timedelta(hours=1)
MAX_DECISIONS = rows_at_a_time(20_000, 2_000)
STEPS = 600  # most steps per run; the next run continues
# how far back the first run starts, when older processes that did not count may still have recorded visits
FIRST_RUN_SPAN = timedelta(minutes=10)


def count_visits() -> int:
    """Count visits of completed minutes; returns the number of steps. Only one of several processes counts a step."""
    return sum(1 for _ in count_in_steps(last_counted()))


def count_before(moment: datetime, **signal: object) -> None:
    """Count all visits before `moment`, as far as their minutes are over."""
    end = min(moment, last_counted())
    while (until := counted_until()) is None or until < end:
        for _ in count_in_steps(end):
            pass


def last_counted() -> datetime:
    """Return the end of the last minute that may be counted."""
    return committed_until(timezone.now()).replace(second=0, microsecond=0) - GRACE


def count_in_steps(end: datetime) -> Iterator[datetime]:
    for _ in range(STEPS):
        begin = counted_until()
        if begin is None:
            VisitsCounted.objects.get_or_create(pk=1, defaults={"until": end - FIRST_RUN_SPAN})
            continue
        until = end_of_step(begin, min(begin + STEP, end))
        if until <= begin:
            return
        if count_stretch(begin, until):
            yield until


def end_of_step(begin: datetime, end: datetime) -> datetime:
    """Return the end of a step with about MAX_DECISIONS; more only if they were created in the same millisecond.

    Ids have milliseconds, and `recorded_decisions` filters by them.
    """
    moments = recorded_decisions(begin, end).order_by("pk").values_list("created", flat=True)
    next_moment = moments[MAX_DECISIONS : MAX_DECISIONS + 1].first()
    if next_moment is None:
        return end
    moment = next_moment.replace(microsecond=next_moment.microsecond // 1_000 * 1_000)
    return moment if moment > begin else end


def counted_until() -> datetime | None:
    return VisitsCounted.objects.values_list("until", flat=True).first()


def count_stretch(begin: datetime, end: datetime) -> bool:
    """Count the decisions from `begin` until before `end`. Returns False if another process did so first.

    Reads before locking, because decisions of past minutes change only by imports, which `imports` shows.
    """
    progress = VisitsCounted.objects.filter(until=begin).first()
    if progress is None:
        return False
    # A killed deletion may have left decisions of an account that is gone.
    usage, sites = tally_visits(groups_in(edge_decisions(begin, end).filter(account__in=Account.objects.all())))
    with unsynced():  # a lost count is repeated
        if not VisitsCounted.objects.filter(until=begin, imports=progress.imports).update(until=end):
            return False
        store_usage(usage, sites)
    return True


def recorded_decisions(begin: datetime, end: datetime) -> QuerySet[AccessEvent]:
    """Return all decisions in this period. Also filters by id, because partitions are by id."""
    first = first_decision_id(begin)
    last = first_decision_id(end)
    return AccessEvent.objects.filter(pk__gte=first, pk__lt=last, created__gte=begin, created__lt=end)


def edge_decisions(begin: datetime, end: datetime) -> QuerySet[AccessEvent]:
    return recorded_decisions(begin, end).filter(facts__has_key="identifiedBy")
