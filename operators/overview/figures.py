"""The overview's figures: those of the API's reports, formatted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
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
from licensing.policies.decision import Reason
from licensing.requesters.models import Requester
from operators.base.figures.charts import Chart, Column, Row, decisions_chart, share
from operators.base.figures.choice import BarRow, Choice, render_change, window_filter
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
    return UsageFigures(
        summary=report["summary"],
        denials={row["reason"]: row["count"] for row in report["byDenialReason"]},
        chart=decisions_chart(window.group_by, days),
        reasons=[
            BarRow(
                Reason(row["reason"]).words,
                f"{row['count']:,}",
                share(row["count"], report["summary"]["denied"]),
                list_url(AccessEvent, outcome=row["reason"], **filters),
                row["reason"],
            )
            for row in report["byDenialReason"]
        ],
        content=top(
            choice,
            Content,
            [(item["id"], item["title"], item["requests"]) for item in report["topContent"]],
            [list_url(AccessEvent, **filters, content__id__exact=item["id"]) for item in report["topContent"]],
        ),
        requesters=top(
            choice,
            Requester,
            [(requester["id"], requester["name"], requester["requests"]) for requester in report["topRequesters"]],
            [list_url(AccessEvent, **filters, requester__id__exact=str(number)) for number in requester_numbers(rows)],
        ),
    )


def top(
    choice: Choice,
    model: type[Content | Requester],
    rows: Sequence[tuple[str, str | None, int]],
    decisions: Sequence[str],
) -> list[BarRow]:
    """Return the rows of a ranking from (id, name, requests), highest first, and links to their decisions."""
    largest = rows[0][2] if rows else 0
    return [
        ranked_row(choice, model, (api_id, name), f"{requests:,}", share(requests, largest), listed)
        for (api_id, name, requests), listed in zip(rows, decisions, strict=True)
    ]


def ranked_row(
    choice: Choice,
    model: type[Content | Requester],
    of: tuple[str, str | None],
    figure: str,
    part: str,
    figure_link: str,
) -> BarRow:
    """Return a row; `of` is id and name. Shows a requester's id beside the name, because callers choose it."""
    api_id, name = of
    link = list_url(model, q=api_id, **choice.account_filter)
    return BarRow(name or api_id, figure, part, link, api_id if model is Requester else "", figure_link)


def revenue_figures(choice: Choice, window: Window, now: datetime, unconverted: UnconvertedRevenue) -> RevenueFigures:
    report = revenue_report(choice.account_ids, window, choice.currency, now, unconverted)

    def format_amount(amount: Decimal) -> str:
        return f"{round_to_minor_unit(amount, choice.currency):,f}"

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
        content=earners(choice, window, report.by_content, format_amount, Content),
        requesters=earners(choice, window, report.by_requester, format_amount, Requester),
        left_out=left_out(choice, report),
    )


def earners(
    choice: Choice,
    window: Window,
    ranked: list[Earner],
    format_amount: Callable[[Decimal], str],
    model: type[Content | Requester],
) -> list[BarRow]:
    largest = ranked[0].revenue if ranked else Decimal(0)
    filters = {**choice.account_filter, **window_filter("occurred_at", window)}
    return [
        ranked_row(
            choice,
            model,
            (row.id, row.name),
            format_amount(row.revenue),
            share(row.revenue, largest),
            list_url(LedgerEntry, **filters, requester__id__exact=str(row.key)) if model is Requester else "",
        )
        for row in ranked
    ]


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


def today_figures(of_accounts: Sequence[DayTotals], now: datetime) -> Today:
    days = add_totals(of_accounts)
    change = ""
    if days.yesterday_whole:
        percent = Decimal(days.today_whole - days.yesterday_whole) * 100 / Decimal(days.yesterday_whole)
        change = f"{percent:+,.0f} %"
    return Today(
        days, days.today - days.today_allowed, days.yesterday - days.yesterday_allowed, f"{now:%H}:00", change
    )
