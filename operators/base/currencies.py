"""The currencies to choose from: those that something was booked in, and those that it can be converted to."""

from collections.abc import Sequence
from datetime import date, timedelta

from django.db.models import Count

from analytics.models import ExchangeRate, TierRevenue
from analytics.rates.conversion import EURO, MOST_DAYS_OLD
from kit.values.currencies import CURRENCIES

RECENTLY = timedelta(days=90)


def booked_currencies(account_ids: Sequence[str], today: date) -> list[str]:
    """Those of the last 90 days, what was booked on most days first."""
    recent = TierRevenue.objects.filter(account_id__in=account_ids, day__range=(today - RECENTLY, today))
    found = recent.order_by().values("currency").annotate(days=Count("pk")).order_by("-days", "currency")
    return [row["currency"] for row in found]


def rated_currencies(today: date) -> list[str]:
    """Those with an exchange rate that holds today, by code."""
    rates = ExchangeRate.objects.filter(currency__in=CURRENCIES, day__range=(today - MOST_DAYS_OLD, today))
    found = set(rates.order_by().values_list("currency", flat=True).distinct())
    return sorted(found | {EURO}) if found else []


def grouped_currencies(booked: Sequence[str]) -> list[tuple[str, object]]:
    """All currencies as the choices of a field, those that were booked before the others."""
    others = [(code, code) for code in CURRENCIES if code not in booked]
    if not booked:
        return [("", "–"), *others]
    return [("", "–"), ("Booked before", [(code, code) for code in booked]), ("Others", others)]


def offered_currencies(booked: Sequence[str], chosen: str, today: date) -> list[str]:
    """Booked ones first; the chosen one is always among them."""
    return list(dict.fromkeys([*booked, *rated_currencies(today), chosen]))
