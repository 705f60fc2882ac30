"""The visitor report: visits by visitor and by crawler class over a period of whole days."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Max, Q, Sum
from msgspec import Struct

from analytics.windows import MICROSECOND, Window, end_of_day, midnight
from kit.storage.reading import read_snapshot
from licensing.edge.current_crawlers import current_table
from licensing.requesters.models import Requester
from licensing.sites.identification import Identification
from licensing.visits.counting import counted_until, decisions, visits_in
from licensing.visits.figures import Visits
from licensing.visits.models import VisitorDay

TOP = 100
OTHER = "other"  # the class of visitors that are not known crawlers


class Visitor(Struct, frozen=True):
    """A visitor in the report. `requester` is None if it has been deleted."""

    requester: Requester | None
    visitor_class: str
    identified_by: Identification
    visits: Visits


class VisitorReport(Struct, frozen=True):
    """The report: `visitors` are the TOP by visits, out of `total`; `classes` covers all visitors."""

    visitors: list[Visitor]
    total: int
    classes: list[tuple[str, Identification, Visits]]


Who = tuple[int, str]  # requester's primary key, identification


def whole_days(window: Window) -> Window:
    """Extend the window to whole days, because visits are counted by day."""
    return Window(midnight(window.start), end_of_day(window.end - MICROSECOND), window.group_by)


def visitor_report(account_ids: Sequence[str], window: Window) -> VisitorReport:
    """Build the report for whole days, from counted visits and decisions not counted yet; each visit counts once.

    One snapshot, because more could be counted between two queries.
    """
    with read_snapshot():
        found = counted_visits(account_ids, window)
        pending = pending_visits(account_ids, window, counted_until())
    for who, visits in pending.items():
        found[who] = found[who] + visits if who in found else visits
    ranked = sorted(found.items(), key=lambda one: (-one[1].total, -one[1].last_seen.timestamp(), one[0]))
    requesters, classes = known_requesters(account_ids, [pk for (pk, _), _ in ranked[:TOP]])
    visitors = [
        Visitor(requesters.get(pk), classes.get(pk, OTHER), Identification(by), visits)
        for (pk, by), visits in ranked[:TOP]
    ]
    sums: dict[tuple[str, Identification], Visits] = {}
    for (pk, by), visits in found.items():
        key = (classes.get(pk, OTHER), Identification(by))
        sums[key] = sums[key] + visits if key in sums else visits
    told = sorted(sums.items(), key=lambda one: (one[0][0] == OTHER, one[0][0], list(Identification).index(one[0][1])))
    return VisitorReport(visitors, len(ranked), [(*key, visits) for key, visits in told])


def counted_visits(account_ids: Sequence[str], window: Window) -> dict[Who, Visits]:
    days = VisitorDay.objects.filter(
        account_id__in=account_ids, day__gte=window.start.date(), day__lt=window.end.date()
    )
    sums = days.values_list("requester_id", "identified_by").annotate(
        Sum("allowed"), Sum("observed"), Sum("denied"), Max("last_seen")
    )
    return {
        (pk, by): Visits(int(allowed), int(observed), int(denied), last)
        for pk, by, allowed, observed, denied, last in sums
    }


def pending_visits(account_ids: Sequence[str], window: Window, until: datetime | None) -> dict[Who, Visits]:
    """Return visits that are not counted yet, normally those of the last two minutes."""
    begin = max(until or window.start, window.start)
    if begin >= window.end:
        return {}
    found: dict[Who, Visits] = {}
    for (_, _, pk, by), visits in visits_in(decisions(begin, window.end).filter(account_id__in=account_ids)).items():
        found[pk, by] = found[pk, by] + visits if (pk, by) in found else visits
    return found


def known_requesters(account_ids: Sequence[str], wanted: Sequence[int]) -> tuple[dict[int, Requester], dict[int, str]]:
    """Return the requesters with these keys, and the crawler classes of all known crawlers, verified or not."""
    table = current_table.get()
    crawlers: dict[str, str] = {name: one.crawler_class for name, one in table.by_requester.items()}
    found = Requester.objects.select_related("account").filter(
        Q(pk__in=wanted) | Q(account_id__in=account_ids, requester_id__in=list(crawlers))
    )
    requesters = {one.pk: one for one in found}
    classes = {pk: crawlers[one.requester_id] for pk, one in requesters.items() if one.requester_id in crawlers}
    return requesters, classes
