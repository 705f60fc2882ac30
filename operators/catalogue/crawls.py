"""Figures of the page *Crawlers*: requests over time, what each operator took and gave, and pages by folder."""

from collections import Counter, defaultdict
from datetime import UTC, datetime, time
from urllib.parse import urlencode

from django.http import HttpResponse

from analytics.windows import Window
from kit.rest.csv_lines import BOM, cell, csv_bytes
from licensing.crawler_classes import CLASSES
from licensing.visits.crawler_report import By, CrawlerReport
from licensing.visits.page_report import top_folders
from licensing.visits.reading import Usage
from operators.base.figures.charts import Chart, Column, Row
from operators.base.figures.choice import FigureSelection
from operators.base.figures.terms import format_sums
from operators.base.links import Option

COLOURS = ["orange", "blue", "cyan", "green"]  # of the operators or crawlers with most requests
OTHERS_COLUMN = ""  # the column of all operators or crawlers beyond the first
GROUPING_PARAMETER = "by"  # the query's grouping of the chart
FOLDER_PARAMETER = "below"  # the query's URL of the folder whose pages are shown
CSV_FILENAME = "operators.csv"
COUNT_COLUMNS = ["operator", "requests", "verified", "violations", "referrals", "crawlsPerReferral"]
MONEY_COLUMNS = ["revenue", "revenueAtStake"]


def operators_csv(report: CrawlerReport, *, with_money: bool) -> HttpResponse:
    """Return the table of operators as a file."""
    lines = [COUNT_COLUMNS + MONEY_COLUMNS if with_money else COUNT_COLUMNS]
    for name, taker in report.operators:
        ratio = taker.crawls_per_referral
        crawls = taker.crawls
        values = [name, crawls.total, crawls.verified, crawls.violations, taker.referrals]
        values.append(None if ratio is None else str(ratio))
        if with_money:
            values += [format_sums(taker.revenue), format_sums(taker.at_stake)]
        lines.append([cell(value) for value in values])
    response = HttpResponse(BOM + csv_bytes(lines), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{CSV_FILENAME}"'
    return response


def read_grouping(text: str) -> By:
    """Return the chart's grouping as chosen in the query; by class otherwise."""
    return By(text) if text in list(By) else By.CLASS


def groupings(chosen: By, choice: FigureSelection) -> list[Option]:
    options = []
    for grouping in By:
        query = choice.query() | {GROUPING_PARAMETER: grouping.value}
        options.append(Option(f"by {grouping}", f"?{urlencode(query)}", grouping == chosen))
    return options


def requests_chart(report: CrawlerReport, window: Window, by: By) -> Chart | None:
    """Return crawlers' requests in the window's buckets; None if there were none.

    Operators or crawlers beyond the first four have one column together.
    """
    totals: Counter[str] = Counter()
    for _, name, crawls in report.series:
        totals[name] += crawls.total
    if not totals:
        return None
    ranked = sorted(totals, key=lambda name: (-totals[name], name))
    if by == By.CLASS:
        names = [name for name in CLASSES if name in totals]
    else:
        names = ranked[: len(COLOURS)]
    counts: defaultdict[tuple[datetime, str], int] = defaultdict(int)
    for day, name, crawls in report.series:
        bucket = window.bucket_start(datetime.combine(day, time(), UTC))
        counts[bucket, name if name in names else OTHERS_COLUMN] += crawls.total
    shown_names = list(names)
    if len(ranked) > len(names):
        shown_names.append(OTHERS_COLUMN)
    rows = []
    for bucket in window.buckets():
        numbers = [counts.get((bucket, name), 0) for name in shown_names]
        rows.append(Row(bucket.date(), [f"{number:,}" for number in (*numbers, sum(numbers))]))
    if by == By.CLASS:
        columns = [Column(CLASSES[name].label, CLASSES[name].colour) for name in names]
    else:
        columns = [
            Column(name or "Others", colour) for name, colour in zip(shown_names, [*COLOURS, "grey"], strict=False)
        ]
    return Chart("Requests of crawlers", "Requests", window.group_by, [*columns, Column("Total")], rows)


def visited_folders(choice: FigureSelection, usage: Usage) -> dict[str, object]:
    """Return the folders and pages with most visits, one level below the chosen folder; `back` is the top's query.

    A folder's row has the query that shows what is below it.
    """
    below = usage.selection.prefix
    rows = []
    for url, visits in top_folders(usage):
        is_folder = url.endswith("/") and url != below
        query = urlencode({**choice.query(), FOLDER_PARAMETER: url}) if is_folder else ""
        rows.append({"url": url, "visits": visits, "query": query})
    return {"below": below, "back": urlencode(choice.query()), "rows": rows}
