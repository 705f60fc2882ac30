"""The overview's figures: those of the API's reports, in words and rows of a page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from msgspec import Struct

from analytics.models import AccessEvent, TierRevenue
from analytics.revenue.report import Earner, RevenueReport, revenue_of_day, revenue_report
from analytics.revenue.serializers import HUNDREDTH
from analytics.usage.daily_totals import Days, added
from analytics.usage.report import usage_report
from analytics.windows import USAGE, Window, midnight
from kit.http.errors import InvalidRequest
from kit.values.amounts import WIDE
from kit.values.currencies import round_to_minor_unit
from licensing.content.models import Content
from licensing.policies.decision import Reason
from licensing.requesters.models import Requester
from operators.base.links import list_url
from operators.overview.charts import Chart, draw, share
from operators.overview.choice import Choice

GROUPS = {"7d": "day", "30d": "day", "90d": "day", "year": "week"}  # of the charts; the reports' `groupBy`


class BarRow(Struct, frozen=True):
    """A line of a list: what it is, its figure, how long its bar is (of a hundred), and where it leads."""

    name: str
    figure: str
    share: str
    link: str = ""
    hint: str = ""


@dataclass(frozen=True)
class UsageFigures:
    summary: dict[str, int]
    chart: Chart | None
    series: list[dict[str, Any]]
    reasons: list[BarRow]
    content: list[BarRow]
    requesters: list[BarRow]
    group_by: str

    @property
    def first(self) -> str:
        return str(self.series[0]["date"])

    @property
    def last(self) -> str:
        return str(self.series[-1]["date"])

    @property
    def highest(self) -> str:
        return f"{max(bucket['requests'] for bucket in self.series):,}"


@dataclass(frozen=True)
class RevenueFigures:
    total: str
    change: str  # in per cent, with its sign; empty where there was nothing before
    before: str
    projected: str
    today: str
    yesterday: str
    chart: Chart | None
    series: list[tuple[str, str]]
    highest: str
    tiers: list[BarRow]
    content: list[BarRow]
    requesters: list[BarRow]

    @property
    def first(self) -> str:
        return self.series[0][0]

    @property
    def last(self) -> str:
        return self.series[-1][0]


@dataclass(frozen=True)
class MissingRate:
    """Why there are no revenue figures, and the one currency that needs no rates, if there is one."""

    message: str
    instead: str
    link: str


def window_of(choice: Choice, now: datetime) -> Window:
    return USAGE.parse({"period": choice.period, "groupBy": GROUPS[choice.period]}, now, lambda: None)


def usage_figures(choice: Choice, window: Window) -> UsageFigures:
    report = usage_report(choice.account_ids, window)
    bars = [
        (
            f"{bucket['date']}: {bucket['allowed']:,} allowed, {bucket['denied']:,} denied",
            (("allowed", bucket["allowed"]), ("denied", bucket["denied"])),
        )
        for bucket in report["timeSeries"]
    ]
    return UsageFigures(
        summary=report["summary"],
        chart=draw(bars),
        series=report["timeSeries"],
        reasons=[
            BarRow(
                Reason(row["reason"]).words,
                f"{row['count']:,}",
                share(row["count"], report["summary"]["denied"]),
                list_url(AccessEvent, outcome=row["reason"]),
                row["reason"],
            )
            for row in report["byDenialReason"]
        ],
        content=top(report["topContent"], "title", Content),
        requesters=top(report["topRequesters"], "name", Requester),
        group_by=window.group_by,
    )


def top(rows: Sequence[dict[str, Any]], name: str, model: type[Content | Requester]) -> list[BarRow]:
    largest = rows[0]["requests"] if rows else 0
    return [
        row_of(model, one["id"], one[name], f"{one['requests']:,}", share(one["requests"], largest)) for one in rows
    ]


def row_of(model: type[Content | Requester], api_id: str, name: str | None, figure: str, part: str) -> BarRow:
    """An item's title tells it apart, its id nobody knows by heart; a requester's id is the caller's own."""
    return BarRow(name or api_id, figure, part, list_url(model, q=api_id), api_id if model is Requester else "")


def revenue_figures(choice: Choice, window: Window, now: datetime) -> RevenueFigures | MissingRate:
    try:
        report = revenue_report(choice.account_ids, window, choice.currency, now)
        if window.group_by == "day":
            (_, yesterday), (_, today) = report.series[-2:]
        else:
            today, yesterday = revenue_of_day(choice.account_ids, midnight(now), choice.currency)
    except InvalidRequest as error:
        return missing_rate(choice, window, error.message)

    def shown(amount: Decimal) -> str:
        return f"{round_to_minor_unit(amount, choice.currency):,f}"

    labels = [(str(window.label(bucket)), amount) for bucket, amount in report.series]
    bars = [(f"{label}: {shown(amount)} {choice.currency}", [("revenue", amount)]) for label, amount in labels]
    return RevenueFigures(
        total=shown(report.total),
        change=change_of(report),
        before=shown(report.before),
        projected=shown(report.projected_monthly),
        today=shown(today),
        yesterday=shown(yesterday),
        chart=draw(bars),
        series=[(label, shown(amount)) for label, amount in labels],
        highest=shown(max(amount for _, amount in labels)),
        tiers=[
            BarRow(tier, shown(amount), share(amount, max(report.by_license_type.values())))
            for tier, amount in report.by_license_type.items()
        ],
        content=earners(report.by_content, shown, Content),
        requesters=earners(report.by_requester, shown, Requester),
    )


def change_of(report: RevenueReport) -> str:
    change = report.change_percent
    return "" if change is None else f"{change.quantize(HUNDREDTH, context=WIDE):+,f} %"


def earners(ranked: list[Earner], shown: Callable[[Decimal], str], model: type[Content | Requester]) -> list[BarRow]:
    largest = ranked[0].revenue if ranked else Decimal(0)
    return [row_of(model, one.id, one.name, shown(one.revenue), share(one.revenue, largest)) for one in ranked]


def missing_rate(choice: Choice, window: Window, message: str) -> MissingRate:
    """If all was booked in one currency, that one needs no rates."""
    booked = TierRevenue.objects.filter(
        account_id__in=choice.account_ids,
        day__gte=(window.start - (window.end - window.start)).date(),
        day__lt=window.end.date(),
    )
    codes = list(booked.values_list("currency", flat=True).distinct().order_by()[:2])
    if len(codes) != 1:
        return MissingRate(message, "", "")
    return MissingRate(message, codes[0], f"{reverse('admin:index')}?{urlencode(choice.query(currency=codes[0]))}")


@dataclass(frozen=True)
class Today:
    """Decisions of today against those of yesterday, which are compared in the hours that are over."""

    days: Days
    denied: int
    yesterday_denied: int
    until: str  # the end of those hours
    change: str  # in per cent, with its sign; empty where there was nothing yesterday


def today_figures(of_accounts: Sequence[Days], now: datetime) -> Today:
    days = added(of_accounts)
    change = ""
    if days.yesterday_whole:
        percent = Decimal(days.today_whole - days.yesterday_whole) * 100 / Decimal(days.yesterday_whole)
        change = f"{percent:+,.0f} %"
    return Today(
        days, days.today - days.today_allowed, days.yesterday - days.yesterday_allowed, f"{now:%H}:00", change
    )
