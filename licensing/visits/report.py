"""Who came to the edge in a stretch of days: visitors with what was answered, and the same by class."""

from collections import defaultdict
from collections.abc import Sequence

from django.db.models import Max, Sum
from msgspec import Struct

from analytics.windows import Window
from kit.storage.reading import reading
from licensing.edge.crawlers import current_table
from licensing.edge.identification import Identification
from licensing.requesters.models import Requester
from licensing.visits.counting import Visits, counted_until, decisions, visits_in
from licensing.visits.models import VisitorDay

TOP = 100
OTHER = "other"  # the class of who is no known crawler


class Visitor(Struct, frozen=True):
    """`requester` is None for one that has gone."""

    requester: Requester | None
    visitor_class: str
    identified_by: Identification
    visits: Visits


class VisitorReport(Struct, frozen=True):
    """`visitors` are the TOP with most visits of `total`; `classes` are of all."""

    visitors: list[Visitor]
    total: int
    classes: list[tuple[str, Identification, Visits]]


Who = tuple[int, str]  # a requester's row, and what told who it was


def visitor_report(account_ids: Sequence[str], window: Window) -> VisitorReport:
    """Of whole days, at one moment."""
    with reading():
        found = counted(account_ids, window)
        for who, visits in waiting(account_ids, window).items():
            found[who] = found[who] + visits if who in found else visits
        ranked = sorted(found.items(), key=lambda one: (-total_of(one[1]), -one[1].last_seen.timestamp(), one[0]))
        classes = classes_of(found)
        requesters = Requester.objects.select_related("account").in_bulk([pk for (pk, _), _ in ranked[:TOP]])
    visitors = [
        Visitor(requesters.get(pk), classes[pk], Identification(by), visits) for (pk, by), visits in ranked[:TOP]
    ]
    sums: dict[tuple[str, Identification], Visits] = {}
    for (pk, by), visits in found.items():
        key = (classes[pk], Identification(by))
        sums[key] = sums[key] + visits if key in sums else visits
    told = sorted(sums.items(), key=lambda one: (one[0][0] == OTHER, one[0][0], list(Identification).index(one[0][1])))
    return VisitorReport(visitors, len(ranked), [(*key, visits) for key, visits in told])


def total_of(visits: Visits) -> int:
    return visits.allowed + visits.observed + visits.denied


def counted(account_ids: Sequence[str], window: Window) -> dict[Who, Visits]:
    days = VisitorDay.objects.filter(
        account_id__in=account_ids, day__gte=window.start.date(), day__lt=window.end.date()
    )
    rows = days.values_list("requester_id", "identified_by").annotate(
        Sum("allowed"), Sum("observed"), Sum("denied"), Max("last_seen")
    )
    return {(pk, by): Visits(*figures) for pk, by, *figures in rows}


def waiting(account_ids: Sequence[str], window: Window) -> dict[Who, Visits]:
    """What is not counted yet: in production the visits of two minutes."""
    until = counted_until() or window.start
    begin = max(until, window.start)
    if begin >= window.end:
        return {}
    found: dict[Who, Visits] = {}
    for (_, _, pk, by), visits in visits_in(decisions(begin, window.end).filter(account_id__in=account_ids)).items():
        found[pk, by] = found[pk, by] + visits if (pk, by) in found else visits
    return found


def classes_of(found: dict[Who, Visits]) -> dict[int, str]:
    """The class of each: a crawler's, verified or not, by the table in use."""
    classes: defaultdict[int, str] = defaultdict(lambda: OTHER)
    crawlers = {one.key: one.crawler_class for one in current_table.get().crawlers}
    names = [f"{kind}:{key}" for kind in ("crawler", "unverified") for key in crawlers]
    known = Requester.objects.filter(requester_id__in=names, pk__in={pk for pk, _ in found})
    for pk, requester_id in known.values_list("pk", "requester_id"):
        classes[pk] = crawlers[requester_id.partition(":")[2]]
    return classes
