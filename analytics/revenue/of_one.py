"""The unconverted revenue of one item or requester, by currency."""

from datetime import date, timedelta
from decimal import Decimal

from django.db import connection
from django.db.models import Q, Sum

from analytics.models import LedgerEntry, TierRevenue
from analytics.revenue.sums import ROLLUPS
from analytics.rollups.roll_up import PENDING_REVENUE
from analytics.rollups.upserts import prepare
from analytics.usage.of_one import Key, One
from analytics.windows import MICROSECOND, Window, end_of_day, midnight
from kit.values.amounts import from_millionths


def revenue_of_one(one: One, account_id: str, key: Key, window: Window) -> dict[str, Decimal]:
    """Return the sums by currency; currencies without entries are absent.

    Whole days of UTC come from the rollups, what is before and after them from the ledger.
    """
    first, after = end_of_day(window.start - MICROSECOND), midnight(window.end)
    earned = revenue_of_days(one, account_id, key, first.date(), after.date())
    before = Q(occurred_at__gte=window.start, occurred_at__lt=first)
    edges = before | Q(occurred_at__gte=after, occurred_at__lt=window.end)
    if window.start < first or after < window.end:
        entries = LedgerEntry.objects.filter(edges, account_id=account_id, **{f"{one}_id": key})
        for currency, amount in entries.order_by().values_list("currency").annotate(earned=Sum("amount")):
            earned[currency] = earned.get(currency, Decimal(0)) + amount
    return dict(sorted(earned.items()))


def revenue_of_days(one: One, account_id: str, key: Key, first: date, after: date) -> dict[str, Decimal]:
    """Return the sums from day `first` to the day before `after`, which are days of UTC.

    Naming every day and currency lets the rollup's index find each row.
    """
    days = [first + timedelta(number) for number in range((after - first).days)]
    ours = TierRevenue.objects.filter(account_id=account_id, day__gte=first, day__lt=after)
    currencies = list(ours.order_by().values_list("currency", flat=True).distinct())
    rows = ROLLUPS[one]._default_manager.filter(
        **{"account_id": account_id, "day__in": days, "currency__in": currencies, f"{one}_id": key}
    )
    booked = rows.order_by().values_list("currency").annotate(earned=Sum("amount"))
    earned: dict[str, Decimal] = dict(booked)
    for currency, amount in pending_revenue(one, account_id, key, first, after):
        earned[currency] = earned.get(currency, Decimal(0)) + amount
    return earned


def pending_revenue(one: One, account_id: str, key: Key, first: date, after: date) -> list[tuple[str, Decimal]]:
    if connection.vendor != "postgresql":
        return []
    day = "(hour AT TIME ZONE 'UTC')::date"
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT currency, sum(amount) FROM {PENDING_REVENUE}"  # noqa: S608 - made of constants
            f" WHERE account_id = %s AND {day} >= %s AND {day} < %s AND {one}_id = %s GROUP BY 1",
            [
                prepare(LedgerEntry, "account_id", account_id),
                first,
                after,
                prepare(LedgerEntry, f"{one}_id", key),
            ],
        )
        return [(currency, from_millionths(amount)) for currency, amount in cursor.fetchall()]
