"""The overview's figures: those of the API's reports, formatted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple
from urllib.parse import urlencode

from django.urls import reverse

from analytics.models import AccessEvent, LedgerEntry
from analytics.revenue.report import Earner, RevenueReport, UnconvertedRevenue, revenue_report
from analytics.usage.daily_totals import DayTotals, add_totals
from analytics.usage.report import requester_numbers, usage_report, usage_rows
from analytics.windows import DAY, Window, midnight
from kit.values.currencies import in_full, round_to_minor_unit
from kit.values.numbers import count_text
from licensing.content.models import Content
from licensing.requesters.models import Requester
from operators.base.figures.charts import Chart, Column, Row, decisions_chart, share
from operators.base.figures.choice import BarRow, Choice, denial_rows, render_change, window_filter
from operators.base.links import list_url


@dataclass(frozen=True)
class UsageFigures:
    summary: Mapping[str, int]
    denials: Mapping[str, int]  # by reason
    chart: Chart | None
    reasons: list[BarRow]
    content: list[BarRow]
    requesters: list[BarRow]


@dataclass(frozen=True)
class LeftOut:
    """Amounts without an exchange rate, and a currency that needs no rates, if any."""

    amounts: list[str]
    instead: str
    link: str


@dataclass(frozen=True)
class RevenueFigures:
    total: str
    change: str  # in per cent with sign; empty without an earlier value
    before: str
    projected: str
    today: str
    yesterday: str
    chart: Chart | None
    tiers: list[BarRow]
    content: list[BarRow]
    requesters: list[BarRow]
    left_out: LeftOut | None


def usage_figures(choice: Choice, window: Window) -> UsageFigures:
    rows = usage_rows(choice.account_ids, window)
    report = usage_report(choice.account_ids, window, rows)
    filters = {**choice.account_filter, **window_filter("created", window)}
    days = [
        (date.fromisoformat(bucket["date"]), bucket["requests"], bucket["allowed"]) for bucket in report["timeSeries"]
    ]
    content = [
        Ranked(
            item["id"],
            item["title"],
            item["requests"],
            f"{item['requests']:,}",
            list_url(AccessEvent, **filters, content__id__exact=item["id"]),
        )
        for item in report["topContent"]
    ]
    requesters = [
        Ranked(
            requester["id"],
            requester["name"],
            requester["requests"],
            f"{requester['requests']:,}",
            list_url(AccessEvent, **filters, requester__id__exact=str(number)),
        )
        for requester, number in zip(report["topRequesters"], requester_numbers(rows), strict=True)
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


class Ranked(NamedTuple):
    """A row of a ranking: an item or customer by its id in the API, and a link to what the figure counts."""

    id: str
    name: str | None
    value: int | Decimal
    figure: str
    figure_link: str


def ranking(choice: Choice, model: type[Content | Requester], rows: Sequence[Ranked]) -> list[BarRow]:
    """Return the rows, highest first. Shows a requester's id beside the name, because callers choose it."""
    largest = rows[0].value if rows else 0
    return [
        BarRow(
            row.name or row.id,
            row.figure,
            share(row.value, largest),
            list_url(model, q=row.id, **choice.account_filter),
            row.id if model is Requester else "",
            row.figure_link,
        )
        for row in rows
    ]


def revenue_figures(choice: Choice, window: Window, now: datetime, unconverted: UnconvertedRevenue) -> RevenueFigures:
    report = revenue_report(choice.account_ids, window, choice.currency, now, unconverted)

    def format_amount(amount: Decimal) -> str:
        return f"{round_to_minor_unit(amount, choice.currency):,f}"

    def earners(ranked: list[Earner], filters: dict[str, str]) -> list[Ranked]:
        """Return the rows; without filters, those of items, of which the ledger has no list."""
        return [
            Ranked(
                row.id,
                row.name,
                row.revenue,
                format_amount(row.revenue),
                list_url(LedgerEntry, **filters, requester__id__exact=str(row.key)) if filters else "",
            )
            for row in ranked
        ]

    filters = {**choice.account_filter, **window_filter("occurred_at", window)}
    today = midnight(now).date()
    is_current = window.start <= now - DAY and now < window.end
    rows = [Row(bucket.astimezone(window.zone).date(), (format_amount(amount),)) for bucket, amount in report.series]
    columns = [Column(choice.currency, "revenue")]
    is_drawn = any(amount for _, amount in report.series)
    return RevenueFigures(
        total=format_amount(report.total),
        change=render_change(report.total, report.before),
        before=format_amount(report.before),
        projected=format_amount(report.projected_monthly),
        today=format_amount(report.by_day.get(today, Decimal(0))) if is_current else "–",
        yesterday=format_amount(report.by_day.get(today - DAY, Decimal(0))) if is_current else "–",
        chart=Chart("Revenue", choice.currency, window.group_by, columns, rows) if is_drawn else None,
        tiers=[
            BarRow(
                tier or "no licence type", format_amount(amount), share(amount, max(report.by_license_type.values()))
            )
            for tier, amount in report.by_license_type.items()
        ],
        content=ranking(choice, Content, earners(report.by_content, {})),
        requesters=ranking(choice, Requester, earners(report.by_requester, filters)),
        left_out=left_out(choice, report),
    )


def left_out(choice: Choice, report: RevenueReport) -> LeftOut | None:
    """Describe what has no exchange rate, and suggest the only currency in use, which needs none."""
    if not report.unconverted:
        return None
    amounts = [
        f"{in_full(sum_.amount, sum_.currency)} ({count_text(sum_.entries, 'entry', 'entries')})"
        for sum_ in report.unconverted
    ]
    codes = list(report.by_currency)
    if len(codes) != 1:
        return LeftOut(amounts, "", "")
    return LeftOut(amounts, codes[0], f"{reverse('admin:index')}?{urlencode(choice.query(currency=codes[0]))}")


@dataclass(frozen=True)
class Today:
    """Decisions of today and yesterday, compared over the complete hours of today."""

    days: DayTotals
    denied: int
    yesterday_denied: int
    until: str  # end of those hours
    change: str  # in per cent with sign; empty without decisions yesterday


def today_figures(days_by_account: Sequence[DayTotals], now: datetime) -> Today:
    days = add_totals(days_by_account)
    change = ""
    if days.yesterday_whole:
        percent = Decimal(days.today_whole - days.yesterday_whole) * 100 / Decimal(days.yesterday_whole)
        change = f"{percent:+,.0f} %"
    return Today(
        days, days.today - days.today_allowed, days.yesterday - days.yesterday_allowed, f"{now:%H}:00", change
    )
