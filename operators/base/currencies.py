"""The currencies to choose from: those that something was booked in, and those that it can be converted to."""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from django.db.models import Count, QuerySet, Value

from analytics.models import ExchangeRate, TierRevenue
from analytics.rates.conversion import EURO, MOST_DAYS_OLD
from kit.values.currencies import CURRENCIES

RECENTLY = timedelta(days=90)


def booked_currencies(account_ids: Sequence[str], today: date) -> list[str]:
    """Those of the last 90 days, what was booked on most days first."""
    return [currency for currency, days in counted(booked(account_ids, today)) if days]


def booked_and_rated(account_ids: Sequence[str], today: date) -> tuple[list[str], list[str]]:
    """Those currencies, and those with an exchange rate that holds today, by code. One query."""
    rates = ExchangeRate.objects.filter(currency__in=CURRENCIES, day__range=(today - MOST_DAYS_OLD, today))
    rated = rates.order_by().values_list("currency", Value(0)).distinct()
    found = counted(booked(account_ids, today).union(rated))
    converted = {currency for currency, days in found if not days}
    return [currency for currency, days in found if days], sorted(converted | {EURO}) if converted else []


def booked(account_ids: Sequence[str], today: date) -> "QuerySet[TierRevenue, tuple[str, int]]":
    """The currencies with the days of each."""
    recent = TierRevenue.objects.filter(account_id__in=account_ids, day__range=(today - RECENTLY, today))
    return recent.order_by().values_list("currency").annotate(days=Count("pk"))


def counted(rows: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """What has most days first."""
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def grouped_currencies(booked: Sequence[str]) -> list[tuple[str, object]]:
    """All currencies as the choices of a field, those that were booked before the others."""
    others = [(code, code) for code in CURRENCIES if code not in booked]
    if not booked:
        return [("", "–"), *others]
    return [("", "–"), ("Booked before", [(code, code) for code in booked]), ("Others", others)]
