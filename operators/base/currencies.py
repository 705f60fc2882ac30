"""The currencies to choose from: those in use, and those with exchange rates."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import TypeAlias, TypeVar

from django.db.models import Count, Model, QuerySet, Value

from analytics.models import ExchangeRate, RecentRevenue, TierRevenue
from analytics.rates.conversion import EURO, MOST_DAYS_OLD
from kit.values.currencies import CURRENCIES

RECENTLY = timedelta(days=90)
Row = TypeVar("Row", bound=Model)
Days: TypeAlias = "QuerySet[Row, tuple[str, int]]"


def booked_currencies(account_ids: Sequence[str], today: date) -> list[str]:
    """Return the currencies of the last 90 days, most frequent first."""
    recent, pending = count_days(account_ids, today)
    return [currency for currency, days in sort_by_days(recent.union(pending, all=True)) if days]


def booked_and_rated(account_ids: Sequence[str], today: date) -> tuple[list[str], list[str]]:
    """Return those currencies, and those with a valid exchange rate today, sorted by code. One query."""
    rates = ExchangeRate.objects.filter(currency__in=CURRENCIES, day__range=(today - MOST_DAYS_OLD, today))
    rated = rates.order_by().values_list("currency", Value(0)).distinct()
    recent, pending = count_days(account_ids, today)
    currencies = sort_by_days(recent.union(pending, rated, all=True))
    converted = {currency for currency, days in currencies if not days}
    return [currency for currency, days in currencies if days], sorted(converted | {EURO}) if converted else []


def count_days(account_ids: Sequence[str], today: date) -> "tuple[Days[TierRevenue], Days[RecentRevenue]]":
    """Return the currencies with their number of daily totals, and with that of the entries not yet added to them."""
    recent = TierRevenue.objects.filter(account_id__in=account_ids, day__range=(today - RECENTLY, today))
    pending = RecentRevenue.objects.filter(account_id__in=account_ids)
    return (
        recent.order_by().values_list("currency").annotate(days=Count("pk")),
        pending.order_by().values_list("currency").annotate(days=Count("pk")),
    )


def sort_by_days(rows: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Add up the days of each currency, and sort by them, descending."""
    days = Counter[str]()
    for currency, number in rows:
        days[currency] += number
    return sorted(days.items(), key=lambda row: (-row[1], row[0]))


def grouped_currencies(booked: Sequence[str]) -> list[tuple[str, object]]:
    """Return all currencies as choices, those in use first."""
    others = [(code, code) for code in CURRENCIES if code not in booked]
    if not booked:
        return [("", "–"), *others]
    return [("", "–"), ("Booked before", [(code, code) for code in booked]), ("Others", others)]
