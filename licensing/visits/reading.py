"""Reads usage at the edge: what is counted, and decisions that are not counted yet, so that each counts once."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import Max, QuerySet, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Left
from django.db.models.lookups import Exact
from msgspec import Struct
from msgspec.structs import replace

from analytics.models import AccessEvent
from analytics.windows import MICROSECOND, Window, end_of_day, midnight
from licensing.access.filters import begins_with
from licensing.edge.crawlers import Crawler
from licensing.edge.current_crawlers import current_table
from licensing.requesters.models import Requester
from licensing.sites.models import Site
from licensing.visits.counting import counted_until, edge_decisions
from licensing.visits.figures import Visits
from licensing.visits.models import EdgeUsage, UsageKind
from licensing.visits.usage import UsageKey, add_visits, groups_in, tally_visits

SCHEME = len("https://")  # the origin is the first folder
SUMS = {
    "allowed_sum": Sum("allowed"),
    "observed_sum": Sum("observed"),
    "denied_sum": Sum("denied"),
    "last": Max("last_seen"),
    "violations_sum": Sum("violations"),
}

FieldValues = tuple[Any, ...]  # of some of these fields


def whole_days(window: Window) -> Window:
    """Extend the window to whole days, because visits are counted by day."""
    return Window(midnight(window.start), end_of_day(window.end - MICROSECOND), window.group_by)


class VisitSelection(Struct, frozen=True):
    """The visits in a report: of one site or all, below an https URL or all."""

    account_ids: Sequence[str]
    window: Window
    site: Site | None = None
    prefix: str = ""

    @property
    def visitors(self) -> UsageKind:
        return UsageKind.VISITOR_OF_PAGE if self.depends_on_page else UsageKind.VISITOR

    @property
    def referrers(self) -> UsageKind:
        return UsageKind.REFERRER_OF_PAGE if self.depends_on_page else UsageKind.REFERRER

    @property
    def depends_on_page(self) -> bool:
        return self.site is not None or bool(self.prefix)

    @property
    def offset(self) -> int:
        """Return the position in a URL of the first folder name below `prefix`."""
        return max(len(self.prefix), SCHEME)

    def rows(self, kind: UsageKind) -> QuerySet[EdgeUsage]:
        """Return the counted usage."""
        first = self.window.start.date()
        last = self.window.end.date()
        rows = EdgeUsage.objects.filter(account_id__in=self.account_ids, kind=kind, day__gte=first, day__lt=last)
        if self.site is not None:
            rows = rows.filter(page__site=self.site)
        if self.prefix:
            rows = rows.filter(Exact(Left("page__url", len(self.prefix)), self.prefix))
        return rows.order_by()

    def events(self, begin: datetime | None = None) -> QuerySet[AccessEvent]:
        """Return the decisions in the window, at the earliest from `begin` on."""
        start = max(begin or self.window.start, self.window.start)
        events = edge_decisions(min(start, self.window.end), self.window.end).filter(account_id__in=self.account_ids)
        if self.site is not None:
            events = events.filter(Exact(KT("facts__siteId"), self.site.pk))
        if self.prefix:
            events = events.filter(begins_with(self.prefix))
        return events

    def folder_above(self, url: str) -> str:
        """Return the folder below `prefix` that has the page, with its slash; the page itself if none has."""
        end = url.find("/", self.offset)
        return url if end < 0 else url[: end + 1]


class Usage:
    """The usage of a selection, for one report or several.

    Create and read it within one `read_snapshot`, so that nothing is counted in between.
    """

    def __init__(self, selection: VisitSelection, waiting: dict[UsageKey, Visits] | None = None) -> None:
        self.selection = selection
        self.waiting = read_waiting(selection) if waiting is None else waiting

    def below(self, prefix: str) -> "Usage":
        """Return the usage of the pages below a URL; all usage if it is empty."""
        if not prefix:
            return self
        waiting = {key: visits for key, visits in self.waiting.items() if key.url.startswith(prefix)}
        return Usage(replace(self.selection, prefix=prefix), waiting)

    @cached_property
    def crawlers(self) -> dict[int, Crawler]:
        """The known crawlers among the accounts' requesters, verified or not, by primary key."""
        known = current_table.get().by_requester
        rows = Requester.objects.filter(account_id__in=self.selection.account_ids, requester_id__in=list(known))
        return {pk: known[name] for pk, name in rows.values_list("pk", "requester_id")}

    @cached_property
    def visitors(self) -> dict[FieldValues, Visits]:
        """The visits by requester and by how it was identified."""
        return self.sums(self.selection.visitors, "requester", "identified_by")

    def uncounted(self, kind: UsageKind) -> dict[UsageKey, Visits]:
        """Return the usage that is not counted yet, normally that of the last two minutes."""
        return {key: visits for key, visits in self.waiting.items() if key.kind == kind}

    def sums(
        self, kind: UsageKind, *names: str, requesters: Collection[int] | None = None
    ) -> dict[FieldValues, Visits]:
        """Return the visits by the fields `names`, which UsageKey and EdgeUsage have; of all or some requesters."""
        rows = self.selection.rows(kind)
        if requesters is not None:
            rows = rows.filter(requester__in=requesters)
        sums = read_sums(rows.values_list(*names))
        for key, visits in self.uncounted(kind).items():
            if requesters is None or key.requester in requesters:
                add_visits(sums, tuple(getattr(key, name) for name in names), visits)
        return sums


def read_waiting(selection: VisitSelection) -> dict[UsageKey, Visits]:
    """Return the usage that is not counted yet."""
    until = counted_until()
    if until is not None and until >= selection.window.end:
        return {}
    usage, _ = tally_visits(groups_in(selection.events(until)))
    return usage


def read_sums(grouped: QuerySet[EdgeUsage, FieldValues], max_groups: int | None = None) -> dict[FieldValues, Visits]:
    """Return the visits of a query that names its groups; of the first `max_groups` groups if given."""
    sums = {}
    for *group, allowed, observed, denied, last, violations in grouped.annotate(**SUMS)[:max_groups]:
        sums[tuple(group)] = Visits(int(allowed), int(observed), int(denied), last, int(violations))
    return sums
