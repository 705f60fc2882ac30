"""A wallet's balance over the last days, and a projection of when it runs out."""

from datetime import date, datetime, timedelta
from decimal import Decimal

from django.db.models import Sum
from django.db.models.functions import TruncDate
from msgspec import Struct

from analytics.wallets.models import Wallet, WalletEntry, WalletEntryType
from kit.values.calendar import start_of_day

DAYS = 30
DAY = timedelta(days=1)


class Forecast(Struct, frozen=True):
    """The balance at the end of each day; `spent_daily` is the average, `ends` None if nothing is spent.

    The projection ignores future refills and grants.
    """

    balances: list[tuple[date, Decimal]]
    projected: list[tuple[date, Decimal]]
    spent_daily: Decimal
    ends: date | None


def forecast(wallet: Wallet, now: datetime) -> Forecast:
    """Return the last 30 days of a wallet in its account's zone, as of now, and a projection. Two queries."""
    zone = wallet.account.zone
    today = now.astimezone(zone).date()
    start = start_of_day(today - (DAYS - 1) * DAY, zone)
    entries = WalletEntry.objects.filter(wallet=wallet, created__gte=start).order_by()
    by_day = entries.annotate(day=TruncDate("created", tzinfo=zone)).values("day")
    changes = {row["day"]: row["sum"] for row in by_day.annotate(sum=Sum("amount"))}
    spends = by_day.filter(type=WalletEntryType.SPEND).annotate(sum=Sum("amount"))
    spent = -sum((row["sum"] for row in spends), Decimal(0))
    first = max(today - (DAYS - 1) * DAY, wallet.created.astimezone(zone).date())
    balances, balance, day = [], wallet.balance, today
    while day >= first:
        balances.append((day, balance))
        balance -= changes.get(day, Decimal(0))
        day -= DAY
    daily = spent / len(balances) if balances else Decimal(0)
    days_left = int(wallet.available / daily) if daily else None
    projected = [
        (today + number * DAY, max(wallet.balance - number * daily, wallet.floor)) for number in range(1, DAYS + 1)
    ]
    return Forecast(
        balances=balances[::-1],
        projected=projected if daily and wallet.available else [],
        spent_daily=daily,
        ends=None if days_left is None or days_left > 3650 else today + days_left * DAY,
    )
