"""The overview's figures: those of the API's reports, formatted."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.urls import reverse
from msgspec import Struct

from analytics.models import AccessEvent, LedgerEntry
from analytics.revenue.report import Earner, RevenueReport, UnconvertedRevenue, revenue_report
from analytics.usage.daily_totals import DayTotals, add_totals
from analytics.usage.report import count_usage, render_report
from analytics.windows import DAY, Window, midnight
from licensing.content.models import Content
from licensing.requesters.models import Requester
from operators.base.figures.charts import Chart, Column, Row, decisions_chart, share
from operators.base.figures.choice import BarRow, FigureSelection, denial_rows, window_filter
from operators.base.figures.terms import minor_units
from operators.base.links import list_url, may_open


class UsageFigures(Struct, frozen=True):
    summary: Mapping[str, int]
    denials: Mapping[str, int]  # by reason
    chart: Chart | None
    reasons: list[BarRow]
    content: list[BarRow]
    requesters: list[BarRow]


class RevenueFigures(Struct, frozen=True):
    report: RevenueReport
    today: Decimal | None  # None if the window does not reach today
    yesterday: Decimal | None
    chart: Chart | None
    tiers: list[BarRow]
    content: list[BarRow]
    requesters: list[BarRow]
    sole_currency: str  # the only one in use, if amounts in it have no exchange rate; otherwise empty
    sole_currency_link: str
    file_link: str


class Ranked(NamedTuple):
    """A row of a ranking: an item or customer by its id in the API, and a link to what the figure counts."""

    id: str
    name: str | None
    value: int | Decimal
    figure: str
    figure_link: str


def usage_figures(choice: FigureSelection, window: Window) -> UsageFigures:
    counts = count_usage(choice.account_ids, window)
    report = render_report(counts, window)
    filters = {**choice.account_filter, **window_filter("created", window)}
    days = [(date.fromisoformat(day["date"]), day["requests"], day["allowed"]) for day in report["timeSeries"]]
    content = [
        ranked_by_requests(item, list_url(AccessEvent, **filters, content__id__exact=item["id"]))
        for item in report["topContent"]
    ]
    requesters = [
        ranked_by_requests(requester, list_url(AccessEvent, **filters, requester__id__exact=str(top.number)))
        for requester, top in zip(report["topRequesters"], counts.top_requesters, strict=True)
    ]
    denials = {row["reason"]: row["count"] for row in report["byDenialReason"]}
    return UsageFigures(
        summary=report["summary"],
        denials=denials,
        chart=decisions_chart(window.group_by, days),
        reasons=denial_rows(denials.items(), report["summary"]["denied"], filters),
        content=ranking(choice, Content, content),
        requesters=ranking(choice, Requester, requesters),
    )


def ranked_by_requests(row: Mapping[str, Any], link: str) -> Ranked:
    return Ranked(row["id"], row.get("title") or row.get("name"), row["requests"], f"{row['requests']:,}", link)


def ranking(choice: FigureSelection, model: type[Content | Requester], rows: Sequence[Ranked]) -> list[BarRow]:
    """Return the rows, highest first. Shows a requester's id beside the name, because callers choose it."""
    return [
        BarRow(
            name=row.name or row.id,
            figure=row.figure,
            share=share(row.value, rows[0].value),
            link=list_url(model, q=row.id, **choice.account_filter) if may_open(model) else "",
            hint=row.id if model is Requester else "",
            figure_link=row.figure_link,
        )
        for row in rows
    ]


def revenue_figures(
    choice: FigureSelection, window: Window, now: datetime, unconverted: UnconvertedRevenue
) -> RevenueFigures:
    report = revenue_report(choice.account_ids, window, choice.currency, now, unconverted)
    filters = {**choice.account_filter, **window_filter("occurred_at", window)}
    content = [ranked_by_revenue(choice, item, "") for item in report.by_content]  # the ledger has no list by item
    requesters = [
        ranked_by_revenue(choice, row, list_url(LedgerEntry, **filters, requester__id__exact=str(row.key)))
        for row in report.by_requester
    ]
    today = yesterday = None
    if window.start <= now - DAY and now < window.end:
        day = midnight(now).date()
        today = report.by_day.get(day, Decimal(0))
        yesterday = report.by_day.get(day - DAY, Decimal(0))
    sole_currency = ""
    if report.unconverted and len(report.by_currency) == 1:
        [sole_currency] = report.by_currency
    return RevenueFigures(
        report=report,
        today=today,
        yesterday=yesterday,
        chart=revenue_chart(choice, window, report),
        tiers=[
            BarRow(
                name=license_type or "no licence type",
                figure=minor_units(amount, choice.currency),
                share=share(amount, max(report.by_license_type.values())),
            )
            for license_type, amount in report.by_license_type.items()
        ],
        content=ranking(choice, Content, content),
        requesters=ranking(choice, Requester, requesters),
        sole_currency=sole_currency,
        sole_currency_link=f"{reverse('admin:index')}?{urlencode(choice.query(currency=sole_currency))}",
        file_link=f"{reverse('admin:revenue_file')}?{urlencode(choice.query())}",
    )


def ranked_by_revenue(choice: FigureSelection, row: Earner, link: str) -> Ranked:
    return Ranked(row.id, row.name, row.revenue, minor_units(row.revenue, choice.currency), link)


def revenue_chart(choice: FigureSelection, window: Window, report: RevenueReport) -> Chart | None:
    if not any(amount for _, amount in report.series):
        return None
    rows = [
        Row(bucket.astimezone(window.zone).date(), (minor_units(amount, choice.currency),))
        for bucket, amount in report.series
    ]
    return Chart("Revenue", choice.currency, window.group_by, [Column(choice.currency, "revenue")], rows)


def today_figures(days_by_account: Sequence[DayTotals], now: datetime) -> dict[str, object]:
    """Return the decisions of today and yesterday, and the change over the complete hours of today in per cent."""
    days = add_totals(days_by_account)
    change = ""
    if days.yesterday_whole:
        percent = Decimal(days.today_whole - days.yesterday_whole) * 100 / Decimal(days.yesterday_whole)
        change = f"{percent:+,.0f} %"
    return {
        "days": days,
        "denied": days.today - days.today_allowed,
        "yesterday_denied": days.yesterday - days.yesterday_allowed,
        "until": f"{now:%H}:00",
        "change": change,
    }
