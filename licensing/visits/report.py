"""The visitor report: visits by visitor and by crawler class over a period of whole days."""

from collections.abc import Sequence

from django.db.models import Q
from msgspec import Struct

from analytics.windows import Window
from kit.storage.reading import read_snapshot
from licensing.edge.current_crawlers import current_table
from licensing.requesters.models import Requester
from licensing.sites.identification import Identification
from licensing.visits.figures import Visits
from licensing.visits.models import Kind
from licensing.visits.reading import Choice, Usage
from licensing.visits.usage import sum_by_key

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


def visitor_report(account_ids: Sequence[str], window: Window) -> VisitorReport:
    """Build the report for whole days."""
    with read_snapshot():
        usage = Usage(Choice(account_ids, window)).sums(Kind.VISITOR, "requester", "identified_by")
    visits_by_visitor = {
        (int(requester), Identification(identified_by)): visits for (requester, identified_by), visits in usage.items()
    }
    ranked = sorted(visits_by_visitor.items(), key=lambda row: (-row[1].total, -row[1].last_seen.timestamp(), row[0]))
    requesters, classes = known_requesters(account_ids, [pk for (pk, _), _ in ranked[:TOP]])
    visitors = [
        Visitor(requesters.get(pk), classes.get(pk, OTHER), identified_by, visits)
        for (pk, identified_by), visits in ranked[:TOP]
    ]
    sums = sum_by_key(((classes.get(pk, OTHER), by), visits) for (pk, by), visits in visits_by_visitor.items())
    order = list(Identification)
    by_class = sorted(sums.items(), key=lambda row: (row[0][0] == OTHER, row[0][0], order.index(row[0][1])))
    return VisitorReport(visitors, len(ranked), [(*key, visits) for key, visits in by_class])


def known_requesters(account_ids: Sequence[str], keys: Sequence[int]) -> tuple[dict[int, Requester], dict[int, str]]:
    """Return the requesters with these keys, and the crawler classes of all known crawlers, verified or not."""
    table = current_table.get()
    crawlers: dict[str, str] = {name: crawler.crawler_class for name, crawler in table.by_requester.items()}
    rows = Requester.objects.select_related("account").filter(
        Q(pk__in=keys) | Q(account_id__in=account_ids, requester_id__in=list(crawlers))
    )
    requesters = {row.pk: row for row in rows}
    classes = {pk: crawlers[row.requester_id] for pk, row in requesters.items() if row.requester_id in crawlers}
    return requesters, classes
