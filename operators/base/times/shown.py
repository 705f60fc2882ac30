"""Times in the operator's time zone, which operators.middleware activates. The UTC time is shown on hover."""

from datetime import UTC, datetime, time

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

TO_DAY, TO_MINUTE, TO_SECOND = "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"


def local_time(moment: datetime) -> datetime:
    """Convert to the operator's time zone. A time that the calendar does not have there stays in UTC."""
    try:
        return timezone.localtime(moment)
    except OverflowError:
        return moment


def shown_time(moment: datetime, style: str = TO_MINUTE) -> SafeString:
    utc = moment.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        f"{utc:%Y-%m-%dT%H:%M:%SZ}",
        f"{utc:{TO_SECOND}}",
        f"{local_time(moment):{style}}",
    )


def time_in_words(moment: datetime, style: str = TO_MINUTE) -> str:
    """Return the time with its zone, as in "2026-11-26 20:52 CET", for text without hover."""
    return f"{local_time(moment):{style} %Z}"


def time_filter(field: str, first: datetime, last: datetime) -> dict[str, str]:
    """Return a list's filter by time (operators.base.filters.MomentFilter), without the times of day it assumes."""
    found = {}
    for end, moment, assumed in (("from", local_time(first), time.min), ("to", local_time(last), time.max)):
        found[f"{field}_{end}_0"] = f"{moment:{TO_DAY}}"
        if moment.time() != assumed:
            found[f"{field}_{end}_1"] = moment.time().isoformat()
    return found
