"""Revenue figures (docs/reference/reports.md): exact and up to date.

Every entry is converted at the rate of its own day; entries without a rate are reported beside the converted figures.
Rounding happens only where figures are shown.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from django.db.models import Min

from analytics.models import LedgerEntry
from analytics.rates.conversion import PRECISION, Rates
from analytics.revenue.spans import NO_WEIGHT, Group, RevenueSpan, Weights
from analytics.revenue.sums import (
    Key,
    Sum,
    count_entries,
    names,
    sums_before_buckets,
    sums_by_license_type,
    top_earners,
)
from analytics.windows import DAY, MICROSECOND, Window, end_of_day, midnight
from kit.values.calendar import start_of_day

TOP = 10  # requesters and items, unless more are asked for
MOST_EARNERS = 10_000
NO_TYPE = "other"  # the key in byLicenseType for entries without a licence type
BLANK_TYPE = ""  # the key instead if a licence type is named "other"; no licence type can be blank
DAYS_OF_A_MONTH = 30


@dataclass(frozen=True)
class UnconvertedRevenue:
    """The unconverted revenue of a window and of the preceding one of equal length."""

    sums: list[Sum]
    former: list[Sum]

    def by_currency(self) -> dict[str, tuple[Decimal, Decimal]]:
        """Return both totals by currency, sorted by code."""
        totals, former = sum_by_currency(self.sums), sum_by_currency(self.former)
        return {code: (totals[code], former[code]) for code in sorted(totals.keys() | former.keys())}


def sum_by_currency(sums: Iterable[Sum]) -> defaultdict[str, Decimal]:
    totals: defaultdict[str, Decimal] = defaultdict(Decimal)
    for _, _, code, amount in sums:
        totals[code] = PRECISION.add(totals[code], amount)
    return totals


@dataclass(frozen=True)
class Earner:
    """An item with its title, or a requester (id in the API) with its name; `key` is the database key."""

    key: Key
    id: str
    name: str | None
    revenue: Decimal


@dataclass(frozen=True)
class Unconverted:
    """The entries of a currency that have no exchange rate."""

    currency: str
    amount: Decimal
    entries: int


@dataclass(frozen=True)
class RevenueReport:
    """A revenue report; amounts are in `currency`, not rounded. Only `unconverted` counts entries without a rate."""

    currency: str
    total: Decimal
    before: Decimal  # total of the preceding window of equal length
    projected_monthly: Decimal
    series: list[tuple[datetime, Decimal]]  # by start of the bucket
    by_day: Mapping[date, Decimal]  # without empty days
    by_license_type: dict[str, Decimal]  # largest first
    by_requester: list[Earner]
    by_content: list[Earner]
    by_currency: dict[str, Decimal]  # every entry, as booked, by code
    unconverted: list[Unconverted]  # by code

    @property
    def change_percent(self) -> Decimal | None:
        return change_percent(self.total, self.before)


def change_percent(total: Decimal, before: Decimal) -> Decimal | None:
    """Return the change in percent, or None if `before` is 0."""
    if not before:
        return None
    change = PRECISION.subtract(total, before)
    return PRECISION.divide(PRECISION.multiply(change, Decimal(100)), PRECISION.abs(before))


def first_entry(accounts: Sequence[str]) -> datetime | None:
    earliest: datetime | None = LedgerEntry.objects.filter(account_id__in=accounts).aggregate(
        first=Min("occurred_at")
    )["first"]
    return earliest


def unconverted_revenue(accounts: Sequence[str], window: Window) -> UnconvertedRevenue:
    earliest = window.before
    if window.start != midnight(window.start):
        span, before = RevenueSpan(window.start, window.end), RevenueSpan(earliest, window.start)
        return UnconvertedRevenue(sums_by_license_type(accounts, span), sums_by_license_type(accounts, before))
    sums = sums_by_license_type(accounts, RevenueSpan(earliest, window.end))  # sums of both windows by day
    first = window.start.date()
    return UnconvertedRevenue(
        [(license_type, day, code, amount) for license_type, day, code, amount in sums if day >= first],
        [(license_type, day, code, amount) for license_type, day, code, amount in sums if day < first],
    )


def revenue_report(
    accounts: Sequence[str],
    window: Window,
    currency: str,
    now: datetime,
    known: UnconvertedRevenue | None = None,
    *,
    top: int = TOP,
) -> RevenueReport:
    """Build the report on these accounts (ids, at least one), with the `top` requesters and items.

    `known` is the result of `unconverted_revenue`, if the caller has it. All figures come from one snapshot except the
    two top lists and the number of unconverted entries, which may include entries added a moment later.
    """
    span = RevenueSpan(window.start, window.end)
    revenue = known or unconverted_revenue(accounts, window)
    sums, former = revenue.sums, revenue.former
    rates = rates_for([*sums, *former], currency)

    series = dict.fromkeys(window.buckets(), Decimal(0))
    by_type: defaultdict[str, Decimal] = defaultdict(Decimal)
    days: defaultdict[date, Decimal] = defaultdict(Decimal)
    left_out: defaultdict[Group, Decimal] = defaultdict(Decimal)
    for license_type, day, code, amount in sums:
        worth = rates.convert(amount, code, currency, day)
        if worth is None:
            left_out[day, code] = PRECISION.add(left_out[day, code], amount)
            continue
        bucket = window.bucket_start(min(start_of_day(day, UTC) + DAY, window.end) - MICROSECOND)
        series[bucket] = PRECISION.add(series[bucket], worth)
        by_type[license_type] = PRECISION.add(by_type[license_type], worth)
        days[day] = PRECISION.add(days[day], worth)
    for bucket, day, code, amount in sums_before_buckets(accounts, window):
        worth = rates.convert(amount, code, currency, day)
        if worth is not None:
            earlier = window.bucket_start(bucket - MICROSECOND)
            series[bucket] = PRECISION.subtract(series[bucket], worth)
            series[earlier] = PRECISION.add(series[earlier], worth)
    if BLANK_TYPE in by_type and NO_TYPE not in by_type:
        by_type[NO_TYPE] = by_type.pop(BLANK_TYPE)
    total = sum_amounts(series.values())
    groups = {(day, code) for _, day, code, _ in sums}
    weights = {(day, code): rates.convert(Decimal(1), code, currency, day) or NO_WEIGHT for day, code in groups}
    converted_before = (rates.convert(amount, code, currency, day) for _, day, code, amount in former)
    return RevenueReport(
        currency=currency,
        total=total,
        before=sum_amounts(worth for worth in converted_before if worth is not None),
        projected_monthly=project_month(total, window, now),
        series=list(series.items()),
        by_day=dict(days),
        by_license_type=dict(sorted(by_type.items(), key=lambda pair: (-pair[1], pair[0]))),
        by_requester=list_earners("requester", accounts, span, weights, currency, top),
        by_content=list_earners("content", accounts, span, weights, currency, top),
        by_currency=dict(sorted(sum_by_currency(sums).items())),
        unconverted=unconverted_sums(accounts, window, left_out),
    )


def unconverted_sums(accounts: Sequence[str], window: Window, left_out: Mapping[Group, Decimal]) -> list[Unconverted]:
    """Add up amounts without a rate by currency, and count their entries."""
    if not left_out:
        return []
    amounts: defaultdict[str, Decimal] = defaultdict(Decimal)
    for (_, code), amount in left_out.items():
        amounts[code] = PRECISION.add(amounts[code], amount)
    counted = count_entries(accounts, window.start, window.end, sorted(amounts))
    entries = Counter[str]()
    for group, number in counted.items():
        if group in left_out:
            entries[group[1]] += number
    return [Unconverted(code, amount, entries[code]) for code, amount in sorted(amounts.items())]


def sum_amounts(amounts: Iterable[Decimal]) -> Decimal:
    total = Decimal(0)
    for amount in amounts:
        total = PRECISION.add(total, amount)
    return total


def rates_for(sums: Sequence[Sum], currency: str) -> Rates:
    """Return the rates needed to convert the sums; empty if none is needed."""
    foreign = {(day, code) for _, day, code, _ in sums if code != currency}
    if not foreign:
        return Rates([])
    days = [day for day, _ in foreign]
    return Rates.load({currency, *(code for _, code in foreign)}, min(days), max(days))


def list_earners(
    name: str, accounts: Sequence[str], span: RevenueSpan, weights: Weights, currency: str, count: int
) -> list[Earner]:
    earned = top_earners(name, accounts, span, weights, currency, count)
    shown = names(name, list(earned))
    earners = [Earner(key, *shown[key], amount) for key, amount in earned.items() if key in shown]
    return sorted(earners, key=lambda earner: (-earner.revenue, earner.id))


def project_month(total: Decimal, window: Window, now: datetime) -> Decimal:
    """Return total ÷ elapsed days × 30. Today counts as a whole day; 0 if the window has not begun."""
    elapsed = window.time_until(min(window.end, end_of_day(now, window.zone)))
    if elapsed <= timedelta(0):
        return Decimal(0)
    days = PRECISION.divide(Decimal(elapsed // MICROSECOND), Decimal(DAY // MICROSECOND))
    return PRECISION.divide(PRECISION.multiply(total, Decimal(DAYS_OF_A_MONTH)), days)
