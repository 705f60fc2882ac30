"""Parses the times of logged requests."""

from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from licensing.logs.prefixes import MONTHS
from licensing.logs.requests import Malformed, shorten

NOT_A_TIME = "{} is not a time such as 24/Nov/2026:17:05:01 +0100 or 2026-11-24T17:05:01+01:00."
MAX_CHARACTERS = 40  # characters
MIN_ISO_CHARACTERS = len("2026-11-24T17:05:01")
# Unix times are in seconds, milliseconds, microseconds or nanoseconds; those before each bound have its unit.
UNITS = ((1e11, 1), (1e14, 1_000), (1e17, 1_000_000), (1e21, 1_000_000_000))


def parse_time(text: str) -> datetime:
    """Parse a time of the combined format, of ISO 8601, or a Unix time. Without an offset it is in UTC.

    Raises Malformed.
    """
    if not text:
        raise Malformed("There is no time in this line.")
    if len(text) > MAX_CHARACTERS:
        raise Malformed(NOT_A_TIME.format(shorten(text)))
    return parsed_time(text)


@lru_cache(maxsize=10_000)
def parsed_time(text: str) -> datetime:
    try:
        if text[2:3] == "/":
            return logged_time(text)
        if text[4:5] == "-" and len(text) >= MIN_ISO_CHARACTERS:
            parsed = datetime.fromisoformat(text)
            if parsed.tzinfo is not None:
                return parsed.astimezone(UTC)
            return parsed.replace(tzinfo=UTC)
        return unix_time(int(text) if text.isdigit() else float(text))
    except (ValueError, KeyError, IndexError, OverflowError, OSError):
        raise Malformed(NOT_A_TIME.format(shorten(text))) from None


def logged_time(text: str) -> datetime:
    """Parse `24/Nov/2026:17:05:01 +0100`, also with a fraction of the second. Raises ValueError."""
    clock, _, zone = text.partition(" ")
    seconds, _, fraction = clock.partition(".")
    if len(seconds) != 20 or len(zone) != 5 or zone[0] not in "+-":
        raise ValueError(text)
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:5]))
    year = int(text[7:11])
    month = MONTHS[text[3:6]]
    day = int(text[:2])
    microsecond = int(f"{fraction[:6]:0<6}")
    local = datetime(
        year, month, day, int(text[12:14]), int(text[15:17]), int(text[18:20]), microsecond,
        timezone(-offset if zone[0] == "-" else offset),
    )  # fmt: skip
    return local.astimezone(UTC)


def unix_time(number: float) -> datetime:
    """Return the time of a Unix time in any usual unit. Raises ValueError."""
    for bound, unit in UNITS:
        if 0 <= number < bound:
            return datetime.fromtimestamp(number / unit, UTC)
    raise ValueError(number)
