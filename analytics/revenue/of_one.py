"""The unconverted daily revenue of one item or requester, by currency."""

from datetime import date, timedelta
from decimal import Decimal

from django.db import connection
from django.db.models import Sum

from analytics.models import LedgerEntry, TierRevenue
from analytics.revenue.sums import ROLLUPS
from analytics.rollups.roll_up import PENDING_REVENUE
from analytics.rollups.upserts import prepare
from analytics.usage.of_one import Key, One
from kit.values.amounts import from_millionths


def revenue_of_one(one: One, account_id: str, key: Key, first: date, after: date) -> dict[str, Decimal]:
    """Return the sums by currency from day `first` to the day before `after`; currencies without entries are absent.

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
    return dict(sorted(earned.items()))


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
