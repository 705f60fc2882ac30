"""Today against yesterday, by account. From the hourly rollups: a busy day costs no more than a quiet one."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db.models import Q, Sum
from msgspec import Struct
from msgspec.structs import astuple

from analytics.models import HourlyUsage
from analytics.windows import DAY, floor, midnight


class Days(Struct, frozen=True):
    """Decisions of today and of yesterday; `…_whole`: in the hours of the day that are over by now."""

    today: int = 0
    today_allowed: int = 0
    today_whole: int = 0
    yesterday: int = 0
    yesterday_allowed: int = 0
    yesterday_whole: int = 0


def today_and_yesterday(accounts: Sequence[str], now: datetime) -> dict[str, Days]:
    """Of those of the accounts (by id) that had any."""
    midnight_, hour = midnight(now), floor(now, "hour")
    today, yesterday = Q(hour__gte=midnight_), Q(hour__lt=midnight_)
    allowed = Q(outcome="")
    parts = {
        "today": today,
        "today_allowed": today & allowed,
        "today_whole": today & Q(hour__lt=hour),
        "yesterday": yesterday,
        "yesterday_allowed": yesterday & allowed,
        "yesterday_whole": Q(hour__lt=hour - DAY),
    }
    sums = {f"of_{name}": Sum("requests", filter=part, default=0) for name, part in parts.items()}
    rows = (
        HourlyUsage.objects.filter(account_id__in=accounts, hour__gte=midnight_ - DAY, hour__lt=midnight_ + DAY)
        .values_list("account_id")
        .annotate(**sums)
    )
    return {account: Days(*map(int, counts)) for account, *counts in rows}


def added(days: Iterable[Days]) -> Days:
    return Days(*map(sum, zip(astuple(Days()), *map(astuple, days), strict=True)))
