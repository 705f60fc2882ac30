"""The page report: visits by page, by folder, by visitor and by day, over a period of whole days."""

from collections.abc import Hashable, Mapping, Sequence
from datetime import date
from itertools import chain
from typing import TypeVar

from django.db.models import Case, F, QuerySet, TextField, Value, When
from django.db.models.functions import Left, StrIndex, Substr
from msgspec import Struct

from kit.storage.reading import read_snapshot
from licensing.requesters.models import Requester
from licensing.visits.figures import Visits
from licensing.visits.models import EdgeUsage, Page, UsageKind
from licensing.visits.pages import batches, stored_pages
from licensing.visits.reading import FieldValues, Usage, VisitSelection, read_sums
from licensing.visits.report import MAX_ROWS
from licensing.visits.usage import add_visits, sum_by_key

MAX_VISITORS = 10  # of a page
MOST_FIRST = -(F("allowed_sum") + F("observed_sum") + F("denied_sum"))

Key = TypeVar("Key", bound=Hashable)


class PageVisits(Struct, frozen=True):
    """A page with its visits and its visitors with most of them. `url` is empty for pages that were not counted
    one by one."""

    url: str
    visits: Visits
    visitors: list[tuple[Requester | None, int]]


class PageReport(Struct, frozen=True):
    """`pages`, `folders` and `visitors` are those with most visits; `days` are all that had any."""

    total: Visits
    days: dict[date, Visits]
    visitors: list[tuple[Requester | None, str, Visits]]  # with how each was identified
    pages: list[PageVisits]
    folders: list[tuple[str, Visits]]


def page_report(usage: Usage) -> PageReport:
    days = {day: visits for (day,), visits in usage.sums(usage.selection.visitors, "day").items()}
    if not days:
        return PageReport(total=Visits(), days={}, visitors=[], pages=[], folders=[])
    visitors = ranking(usage.visitors)
    pages = top_pages(usage)
    by_page = visitors_by_page(usage, pages)
    shown_crawlers = {pk for (pk, _), _ in visitors} | {pk for ranked in by_page.values() for pk, _ in ranked}
    requesters = Requester.objects.in_bulk(shown_crawlers)
    return PageReport(
        total=sum(days.values(), Visits()),
        days=dict(sorted(days.items())),
        visitors=[(requesters.get(pk), identified_by, visits) for (pk, identified_by), visits in visitors],
        pages=[
            PageVisits(url, visits, [(requesters.get(pk), number) for pk, number in by_page[url]])
            for url, visits in pages
        ],
        folders=top_folders(usage),
    )


@read_snapshot()
def count_visits(selection: VisitSelection) -> int:
    """Return the number of visits; each counts once."""
    return sum(visits.total for visits in Usage(selection).sums(selection.visitors, "day").values())


def ranking(visits: Mapping[Key, Visits]) -> list[tuple[Key, Visits]]:
    return sorted(visits.items(), key=lambda row: (-row[1].total, str(row[0])))[:MAX_ROWS]


def top_pages(usage: Usage) -> list[tuple[str, Visits]]:
    """Return URL and visits of the pages with most visits."""
    rows = usage.selection.rows(UsageKind.VISITOR_OF_PAGE)
    waiting = sum_by_key((key.url, visits) for key, visits in usage.uncounted(UsageKind.VISITOR_OF_PAGE).items())
    url_of_page = {page.pk: page.url for page in stored_pages({(key.account, key.url) for key in usage.waiting})}
    visits_of_page = top_counted(rows, "page_id", set(url_of_page))
    urls = url_of_page | dict(
        Page.objects.filter(pk__in=visits_of_page.keys() - url_of_page.keys()).values_list("pk", "url")
    )
    url_visits = ((urls[pk], visits) for pk, visits in visits_of_page.items())
    return ranking(sum_by_key(chain(url_visits, waiting.items())))  # several accounts may have pages of the same URL


def top_counted(rows: QuerySet[EdgeUsage], name: str, waiting: set[Key]) -> dict[Key, Visits]:
    """Return the counted visits of the groups by the column `name` with most, and of those in `waiting`."""
    by_name = rows.values_list(name)
    visits_of_group = read_sums(by_name.order_by(MOST_FIRST, name), MAX_ROWS)
    for batch in batches(sorted(waiting - {group for (group,) in visits_of_group}, key=str)):
        visits_of_group |= read_sums(by_name.filter(**{f"{name}__in": batch}))
    return {group: visits for (group,), visits in visits_of_group.items()}


def visitors_by_page(usage: Usage, pages: Sequence[tuple[str, Visits]]) -> dict[str, list[tuple[int, int]]]:
    """Return for each page the visitors with most visits, and how many they made."""
    urls = [url for url, _ in pages]
    names = {(account, url) for account in usage.selection.account_ids for url in urls}
    stored = [page.pk for page in stored_pages(names)]
    counts = usage.selection.rows(UsageKind.VISITOR_OF_PAGE).filter(page__in=stored)
    visits_by_group: dict[FieldValues, Visits] = read_sums(counts.values_list("page__url", "requester_id"))
    for key, visits in usage.uncounted(UsageKind.VISITOR_OF_PAGE).items():
        if key.url in urls:
            add_visits(visits_by_group, (key.url, key.requester), visits)
    visitors: dict[str, list[tuple[int, int]]] = {url: [] for url in urls}
    for (url, requester), visits in visits_by_group.items():
        visitors[url].append((requester, visits.total))
    return {url: sorted(rows, key=lambda row: (-row[1], row[0]))[:MAX_VISITORS] for url, rows in visitors.items()}


def top_folders(usage: Usage) -> list[tuple[str, Visits]]:
    """Return the folders and pages directly below `prefix` with most visits; without one, the sites' origins."""
    selection = usage.selection
    below_folder = Substr("page__url", selection.offset + 1)
    rows = selection.rows(UsageKind.VISITOR_OF_PAGE).annotate(slash=StrIndex(below_folder, Value("/")))
    with_folder = rows.annotate(
        folder=Case(
            When(slash__gt=0, then=Left("page__url", F("slash") + selection.offset)),
            default=F("page__url"),
            output_field=TextField(),
        )
    )
    uncounted = usage.uncounted(UsageKind.VISITOR_OF_PAGE).items()
    waiting = sum_by_key((selection.folder_above(key.url), visits) for key, visits in uncounted)
    return ranking(sum_by_key(chain(top_counted(with_folder, "folder", set(waiting)).items(), waiting.items())))
