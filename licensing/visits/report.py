"""The visitor report: visits by visitor and by crawler class over a period of whole days."""

from msgspec import Struct

from licensing.crawler_classes import OTHER
from licensing.requesters.models import Requester
from licensing.sites.identification import Identification
from licensing.visits.figures import Visits
from licensing.visits.reading import Usage
from licensing.visits.usage import sum_by_key

MAX_ROWS = 100


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


def visitor_report(usage: Usage) -> VisitorReport:
    visits_by_visitor = {
        (int(requester), Identification(identified_by)): visits
        for (requester, identified_by), visits in usage.visitors.items()
    }
    ranked = sorted(visits_by_visitor.items(), key=lambda row: (-row[1].total, -row[1].last_seen.timestamp(), row[0]))
    requesters = Requester.objects.select_related("account").in_bulk([pk for (pk, _), _ in ranked[:MAX_ROWS]])
    classes: dict[int, str] = {pk: crawler.crawler_class for pk, crawler in usage.crawlers.items()}
    visitors = [
        Visitor(requesters.get(pk), classes.get(pk, OTHER), identified_by, visits)
        for (pk, identified_by), visits in ranked[:MAX_ROWS]
    ]
    sums = sum_by_key(((classes.get(pk, OTHER), by), visits) for (pk, by), visits in visits_by_visitor.items())
    order = list(Identification)
    by_class = sorted(sums.items(), key=lambda row: (row[0][0] == OTHER, row[0][0], order.index(row[0][1])))
    return VisitorReport(visitors, len(ranked), [(*key, visits) for key, visits in by_class])
