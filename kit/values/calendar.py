"""Days and months on the wall clock of a time zone."""

from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def add_months(moment: datetime, months: int, zone: tzinfo, later_zone: tzinfo | None = None) -> datetime:
    """Return the same day and time `months` later in the zone, or that month's last day. The result is in UTC.

    With `later_zone`, the day and time are read off the zone's clock, and the result is when that one's shows them.
    A time that the clocks skip is moved forward by as much as they are. Raises ValueError beyond the year 9999.
    """
    local = moment.astimezone(zone)
    years, index = divmod(local.month - 1 + months, 12)
    year = local.year + years
    month = index + 1
    day = min(local.day, monthrange(year, month)[1])
    return local.replace(year=year, month=month, day=day, tzinfo=later_zone or zone).astimezone(UTC)


def months_until(anchor: datetime, moment: datetime, zone: tzinfo) -> int:
    """Return the fewest whole months after which the anchor is at or after a moment; 0 if it already is."""
    local = moment.astimezone(zone)
    first = anchor.astimezone(zone)
    months = max((local.year - first.year) * 12 + local.month - first.month - 1, 0)
    while add_months(anchor, months, zone) < moment:
        months += 1
    return months


def first_of_month(day: date, months: int = 0) -> date:
    """Return the first day of the month that is `months` after that of the day."""
    years, index = divmod(day.month - 1 + months, 12)
    return date(day.year + years, index + 1, 1)


class Months(NamedTuple):
    """Calendar months in a time zone. Those that had begun before a change of zone stay in `former` until `since`."""

    zone: tzinfo = UTC
    former: tzinfo | None = None
    since: datetime | None = None

    def month_of(self, moment: datetime) -> date:
        """Return the first day of the month that a moment belongs to."""
        if self.since is None or self.former is None or moment >= self.since:
            return first_of_month(moment.astimezone(self.zone).date())
        return min(
            first_of_month(moment.astimezone(self.former).date()),
            first_of_month(self.since.astimezone(self.zone).date(), -1),
        )

    def start(self, month: date) -> datetime:
        """Return the moment at which the month of a day begins, in UTC."""
        first = first_of_month(month)
        if self.since is not None and self.former is not None:
            since = first_of_month(self.since.astimezone(self.zone).date())
            if first <= since:
                return self.since if first == since else start_of_day(first, self.former)
        return start_of_day(first, self.zone)

    def following(self, moment: datetime) -> datetime:
        """Return the moment at which the month after that of a moment begins."""
        return self.start(first_of_month(self.month_of(moment), 1))

    def changed_to(self, zone: tzinfo, now: datetime) -> "Months":
        """Return the months after a change of zone: only months that have not begun move."""
        begins = start_of_day(first_of_month(self.month_of(now), 1), zone)
        is_pending = self.since is not None and now < self.since
        return Months(zone, self.former if is_pending else self.zone, max(begins, now))


def start_of_day(day: date, zone: tzinfo) -> datetime:
    """Return the moment at which a day begins in the zone, in UTC."""
    return datetime.combine(day, time.min, zone).astimezone(UTC)


def add_days(moment: datetime, days: int, zone: tzinfo) -> datetime:
    """Return the same time `days` later in the zone, in UTC."""
    return (moment.astimezone(zone) + timedelta(days=days)).astimezone(UTC)


def zone_named(name: str | None) -> tzinfo:
    """Return the zone with an IANA name, or an offset such as `+02:00`; UTC without a name, or for an unknown one."""
    if not name or name == "UTC":
        return UTC
    if name[0] in "+-":
        offset = timedelta(hours=int(name[1:3]), minutes=int(name[4:6]))
        return timezone(-offset if name[0] == "-" else offset)
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError:  # the machine that stored it knew it
        return UTC
