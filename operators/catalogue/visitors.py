"""The page about crawlers and other visitors at the edge: whether they are verified, and their outcomes."""

from collections import defaultdict
from typing import NamedTuple
from urllib.parse import urlencode

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from analytics.models import AccessEvent
from analytics.windows import Window
from kit.storage.reading import read_snapshot
from kit.storage.replica import Reading
from kit.values.canonical_pages import with_https
from licensing.edge.crawlers import Table
from licensing.edge.current_crawlers import current_table
from licensing.edge.verification.models import AddressList
from licensing.edge.verification.published_lists import uses_published_lists
from licensing.visits.crawler_report import By, CrawlerReport, crawler_report
from licensing.visits.reading import Usage, VisitSelection, whole_days
from licensing.visits.report import VisitorReport, visitor_report
from operators.base.figures.charts import CHART_FILES
from operators.base.figures.choice import (
    MAX_ACCOUNTS,
    FigureSelection,
    chosen_window,
    days_in_words,
    read_selection,
    window_filter,
)
from operators.base.links import list_url
from operators.base.pages import EmptyState
from operators.catalogue.crawls import (
    FOLDER_PARAMETER,
    GROUPING_PARAMETER,
    groupings,
    operators_csv,
    read_grouping,
    requests_chart,
    visited_folders,
)

MAX_URL = 2_048  # characters of a folder to look into
MONEY_PERMISSION = "analytics.view_ledgerentry"

NO_VISITORS_YET = EmptyState(
    "Visitors appear here once a proxy asks about a site. Add a site first.",
    "Add a site",
    "licensing_site_add",
    ("licensing.add_site",),
)


class Reports(NamedTuple):
    """The reports on the page, all of the same moment."""

    crawls: CrawlerReport
    visitors: VisitorReport
    folders: dict[str, object]


def visitors_page(request: HttpRequest, site: AdminSite) -> HttpResponse:
    choice = read_selection(request)
    sees_money = request.user.has_perm(MONEY_PERMISSION)
    table = current_table.get()
    context: dict[str, object] = {
        **site.each_context(request),
        "title": "Crawlers and other visitors",
        "choice": choice,
        "most_accounts": MAX_ACCOUNTS,
        "empty_state": NO_VISITORS_YET.render(request),
        "table": table,
        "verified_by_address": sum(bool(crawler.addresses) for crawler in table.crawlers),
        "verified_by_name": sum(bool(crawler.hosts) for crawler in table.crawlers),
        "lists": list_rows(table) if uses_published_lists() else [],
        "fetches_lists": uses_published_lists(),
        "sees_money": sees_money,
        "chart_files": CHART_FILES,
    }
    if choice.accounts:
        visited = VisitSelection(choice.account_ids, whole_days(chosen_window(choice, timezone.now())))
        by = read_grouping(request.GET.get(GROUPING_PARAMETER, ""))
        below = with_https(request.GET.get(FOLDER_PARAMETER, "")[:MAX_URL])
        reading = Reading()
        reports = reading.read(lambda: read_reports(choice, visited, by, below))
        if "download" in request.GET:
            return operators_csv(reports.crawls, with_money=sees_money)
        context |= figures(choice, visited.window, reports, by)
        context["as_of"] = reading.as_of
    return TemplateResponse(request, "operators/catalogue/visitors.html", context)


@read_snapshot()
def read_reports(choice: FigureSelection, visited: VisitSelection, by: By, below: str) -> Reports:
    usage = Usage(visited)
    folders = visited_folders(choice, usage.below(below))
    return Reports(crawler_report(usage, by), visitor_report(usage), folders)


def figures(choice: FigureSelection, window: Window, reports: Reports, by: By) -> dict[str, object]:
    crawls, report, folders = reports
    return {
        **days_in_words(window),
        "classes": report.classes,
        "visitors": report.visitors,
        "decisions": list_url(AccessEvent, **window_filter("created", window)),
        "chart": requests_chart(crawls, window, by),
        "groupings": groupings(by, choice),
        "operators": crawls.operators,
        "download": urlencode({**choice.query(), "download": "operators"}),
        "is_truncated": crawls.is_truncated,
        "folders": folders,
        "more": report.total - len(report.visitors),
        "names_accounts": len(choice.accounts) > 1,
    }


def list_rows(table: Table) -> list[tuple[AddressList, list[str]]]:
    """Return the address lists, each with the names of its crawlers; those that could not be fetched first."""
    crawlers: dict[str, list[str]] = defaultdict(list)
    for crawler in table.crawlers:
        for url in crawler.address_lists:
            crawlers[url].append(crawler.name)
    stored = AddressList.objects.in_bulk(list(crawlers))
    rows = [(stored.get(url) or AddressList(url=url), names) for url, names in crawlers.items()]
    return sorted(rows, key=lambda row: (not row[0].failure, row[0].url))
