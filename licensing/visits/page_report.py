"""The page report: visits by page, by folder, by visitor and by day, over a period of whole days."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import TypeVar, cast

from django.db.models import Case, F, Max, QuerySet, Sum, TextField, When
from django.db.models.expressions import Combinable, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Left, StrIndex, Substr
from django.db.models.lookups import Exact
from msgspec import Struct

from analytics.models import AccessEvent
from analytics.windows import Window
from kit.storage.reading import read_snapshot
from licensing.access.filters import begins_with
from licensing.requesters.models import Requester
from licensing.sites.models import Site
from licensing.visits.counting import counted_until, decisions
from licensing.visits.figures import NUMBERS, Visits
from licensing.visits.models import Page, PageDay, ReferralDay
from licensing.visits.pages import Found, VisitKey, batches, page_visits_in, stored_pages
from licensing.visits.report import TOP, Who

TOP_VISITORS = 10  # of a page
SCHEME = len("https://")  # the origin is the first folder

Key = TypeVar("Key")
OfPage = TypeVar("OfPage", PageDay, ReferralDay)
Grouped = QuerySet[PageDay, tuple[object, ...]]
SUMS = {
    "allowed_sum": Sum("allowed"),
    "observed_sum": Sum("observed"),
    "denied_sum": Sum("denied"),
    "last": Max("last_seen"),
}
MOST_FIRST = (-(F("allowed_sum") + F("observed_sum") + F("denied_sum")),)


class Choice(Struct, frozen=True):
    """The visits in a report: of one site or all, below an https URL or all."""

    account_ids: Sequence[str]
    window: Window
    site: Site | None = None
    prefix: str = ""

    @property
    def offset(self) -> int:
        """Return the position in a URL of the first folder name below `prefix`."""
        return max(len(self.prefix), SCHEME)

    def has(self, visited: VisitKey, found: Found) -> bool:
        return visited.url.startswith(self.prefix) and (self.site is None or found.site == self.site.pk)

    def rows(self) -> QuerySet[PageDay]:
        """Return the counted visits."""
        first, last = self.window.start.date(), self.window.end.date()
        return self.filter_pages(
            PageDay.objects.filter(account_id__in=self.account_ids, day__gte=first, day__lt=last).order_by()
        )

    def referrals(self) -> QuerySet[ReferralDay]:
        """Return the counted referrals."""
        first, last = self.window.start.date(), self.window.end.date()
        return self.filter_pages(
            ReferralDay.objects.filter(account_id__in=self.account_ids, day__gte=first, day__lt=last).order_by()
        )

    def filter_pages(self, rows: QuerySet[OfPage]) -> QuerySet[OfPage]:
        if self.site is not None:
            rows = rows.filter(page__site=self.site)
        if self.prefix:
            rows = rows.filter(Exact(Left("page__url", len(self.prefix)), self.prefix))
        return rows

    def events(self, begin: datetime | None = None) -> QuerySet[AccessEvent]:
        """Return the decisions in the window, at the earliest from `begin` on."""
        start = max(begin or self.window.start, self.window.start)
        found = decisions(min(start, self.window.end), self.window.end).filter(account_id__in=self.account_ids)
        if self.site is not None:
            found = found.filter(Exact(KT("facts__siteId"), self.site.pk))
        if self.prefix:
            found = found.filter(begins_with(self.prefix))
        return found

    def folder_of(self, url: str) -> str:
        """Return the folder below `prefix` that has the page, with its slash; the page itself if none has."""
        end = url.find("/", self.offset)
        return url if end < 0 else url[: end + 1]


class PageVisits(Struct, frozen=True):
    """A page with its visits and its visitors with most of them. `url` is empty for pages that were not counted
    one by one."""

    url: str
    visits: Visits
    visitors: list[tuple[Requester | None, int]]


class PageReport(Struct, frozen=True):
    """`pages`, `folders` and `visitors` are those with most visits; `days` are all that had any."""

    total: Visits | None
    days: dict[date, Visits]
    visitors: list[tuple[Requester | None, str, Visits]]  # with how each was identified
    pages: list[PageVisits]
    folders: list[tuple[str, Visits]]


NOTHING = PageReport(total=None, days={}, visitors=[], pages=[], folders=[])


def page_report(choice: Choice) -> PageReport:
    """Build the report from counted visits and decisions that are not counted yet; each visit counts once.

    One snapshot, because more could be counted between two queries.
    """
    with read_snapshot():
        return report_until(choice, counted_until())


def report_until(choice: Choice, until: datetime | None) -> PageReport:
    rows, waiting = choice.rows(), pending_visits(choice, until)
    days = sum_visits(rows.values_list("day"), waiting, lambda one: one.day)
    if not days:
        return NOTHING
    visitors: dict[Who, Visits] = sum_visits(
        rows.values_list("requester_id", "identified_by"), waiting, lambda one: (one.requester, one.identified_by)
    )
    pages = top_pages(rows, waiting)
    by_page = visitors_of(rows, waiting, [url for url, _, _ in pages], {pk for _, pk, _ in pages if pk is not None})
    ranked = ranking(visitors)
    wanted = {pk for (pk, _), _ in ranked} | {pk for found in by_page.values() for pk, _ in found}
    requesters = Requester.objects.in_bulk(wanted)
    return PageReport(
        total=sum_of(days.values()),
        days=dict(sorted(days.items())),
        visitors=[(requesters.get(pk), by, visits) for (pk, by), visits in ranked],
        pages=[
            PageVisits(url, visits, [(requesters.get(pk), number) for pk, number in by_page[url]])
            for url, _, visits in pages
        ],
        folders=top_folders(choice, rows, waiting),
    )


def count_visits(choice: Choice) -> int:
    """Return the number of visits; each counts once."""
    with read_snapshot():
        sums = choice.rows().aggregate(*map(Sum, NUMBERS))
        waiting = pending_visits(choice, counted_until())
    return sum(int(number or 0) for number in sums.values()) + sum(one.total for one in waiting.values())


def pending_visits(choice: Choice, until: datetime | None) -> dict[VisitKey, Visits]:
    return {visited: one.visits for visited, one in uncounted_visits(choice, until).items()}


def uncounted_visits(choice: Choice, until: datetime | None) -> dict[VisitKey, Found]:
    """Return visits that are not counted yet, normally those of the last two minutes."""
    window = choice.window
    begin = max(until or window.start, window.start)
    if begin >= window.end:
        return {}
    found = page_visits_in(decisions(begin, window.end).filter(account_id__in=choice.account_ids))
    return {visited: one for visited, one in found.items() if choice.has(visited, one)}


def sum_of(visits: Iterable[Visits]) -> Visits | None:
    total = None
    for one in visits:
        total = one if total is None else total + one
    return total


def group_visits(waiting: Mapping[VisitKey, Visits], key: Callable[[VisitKey], Key]) -> dict[Key, Visits]:
    found: dict[Key, Visits] = {}
    for visited, visits in waiting.items():
        name = key(visited)
        found[name] = found[name] + visits if name in found else visits
    return found


def read(grouped: Grouped, *order: Combinable | str) -> dict[Key, Visits]:
    """Return the sums of a query that names its groups, by a value or by a tuple of them; only the first TOP of an
    `order`.
    """
    found: dict[Key, Visits] = {}
    rows = grouped.annotate(**SUMS)
    for *key, allowed, observed, denied, last in rows.order_by(*order)[:TOP] if order else rows:
        name = cast("Key", key[0] if len(key) == 1 else tuple(key))
        counts = [int(cast("int", number)) for number in (allowed, observed, denied)]
        found[name] = Visits(counts[0], counts[1], counts[2], cast("datetime", last))
    return found


def sum_visits(
    grouped: Grouped, waiting: Mapping[VisitKey, Visits], key: Callable[[VisitKey], Key]
) -> dict[Key, Visits]:
    found: dict[Key, Visits] = read(grouped)
    for name, visits in group_visits(waiting, key).items():
        found[name] = found[name] + visits if name in found else visits
    return found


def ranking(found: Mapping[Key, Visits]) -> list[tuple[Key, Visits]]:
    return sorted(found.items(), key=lambda one: (-one[1].total, str(one[0])))[:TOP]


def top_pages(rows: QuerySet[PageDay], waiting: Mapping[VisitKey, Visits]) -> list[tuple[str, int | None, Visits]]:
    """Return URL, primary key and visits of the pages with most; the key is None for a page that is new."""
    fresh = group_visits(waiting, lambda one: one.url)
    there = {page.pk: page.url for page in stored_pages({(one.account, one.url) for one in waiting})}
    by_page = rows.values_list("page_id")
    most: dict[int, Visits] = read(by_page, *MOST_FIRST, "page_id")
    for some in batches(sorted(there.keys() - most.keys())):
        most |= read(by_page.filter(page__in=some))
    urls = there | dict(Page.objects.filter(pk__in=most.keys() - there.keys()).values_list("pk", "url"))
    found: dict[str, Visits] = {}
    keys: dict[str, int] = {}
    for pk, visits in most.items():  # accounts of one operator may have pages of the same URL
        url = urls[pk]
        keys[url] = pk
        found[url] = found[url] + visits if url in found else visits
    for url, visits in fresh.items():
        found[url] = found[url] + visits if url in found else visits
    return [(url, keys.get(url), visits) for url, visits in ranking(found)]


def visitors_of(
    rows: QuerySet[PageDay], waiting: Mapping[VisitKey, Visits], urls: Sequence[str], pages: set[int]
) -> dict[str, list[tuple[int, int]]]:
    """Return for each URL the visitors with most visits, and how many they made."""
    counted = rows.filter(page__in=pages).values_list("page__url", "requester_id")
    found: dict[tuple[str, int], Visits] = sum_visits(
        counted, {one: visits for one, visits in waiting.items() if one.url in urls},
        lambda one: (one.url, one.requester),
    )  # fmt: skip
    by_url: dict[str, list[tuple[int, int]]] = {url: [] for url in urls}
    for (url, requester), visits in found.items():
        by_url[url].append((requester, visits.total))
    return {
        url: sorted(visitors, key=lambda one: (-one[1], one[0]))[:TOP_VISITORS] for url, visitors in by_url.items()
    }


def top_folders(
    choice: Choice, rows: QuerySet[PageDay], waiting: Mapping[VisitKey, Visits]
) -> list[tuple[str, Visits]]:
    """Return the folders and pages directly below `prefix` with most visits; without one, the sites' origins."""
    rest = Substr("page__url", choice.offset + 1)
    named = rows.annotate(slash=StrIndex(rest, Value("/"))).annotate(
        folder=Case(
            When(slash__gt=0, then=Left("page__url", F("slash") + choice.offset)),
            default=F("page__url"),
            output_field=TextField(),
        )
    )
    by_folder = named.values_list("folder")
    found: dict[str, Visits] = read(by_folder, *MOST_FIRST, "folder")
    fresh = group_visits(waiting, lambda one: choice.folder_of(one.url))
    for some in batches(sorted(fresh.keys() - found.keys())):
        found |= read(by_folder.filter(folder__in=some))
    for folder, visits in fresh.items():
        found[folder] = found[folder] + visits if folder in found else visits
    return ranking(found)
