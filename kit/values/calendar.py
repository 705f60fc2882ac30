"""Days and months on the wall clock of a time zone."""

from calendar import monthrange
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def add_months(moment: datetime, months: int, zone: tzinfo) -> datetime:
    """Return the same day and time `months` later in the zone, or that month's last day. The result is in UTC.

    A time that the clocks skip is moved forward by as much as they are. Raises ValueError beyond the year 9999.
    """
    local = moment.astimezone(zone)
    years, index = divmod(local.month - 1 + months, 12)
    year, month = local.year + years, index + 1
    day = min(local.day, monthrange(year, month)[1])
    return local.replace(year=year, month=month, day=day).astimezone(UTC)


def add_days(moment: datetime, days: int, zone: tzinfo) -> datetime:
    """Return the same time `days` later in the zone, in UTC."""
    return (moment.astimezone(zone) + timedelta(days=days)).astimezone(UTC)


def zone_named(name: str | None) -> tzinfo:
    """Return the zone with an IANA name, or an offset such as `+02:00`; UTC without a name, or for an unknown one."""
    if not name:
        return UTC
    if name[0] in "+-":
        offset = timedelta(hours=int(name[1:3]), minutes=int(name[4:6]))
        return timezone(-offset if name[0] == "-" else offset)
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError:  # the machine that stored it knew it
        return UTC
