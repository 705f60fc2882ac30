"""Timestamps in JSON: ISO 8601, with any offset in requests, with `Z` and microseconds in replies."""

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from kit.values.shown import MAX_SHOWN

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
IS_DATE = re.compile(r"\d{4}-\d{2}-\d{2}").fullmatch
HAS_LOST_PLUS = re.compile(r"\d{4}-\d{2}-\d{2}T[\d:.]+ \d{2}:?\d{2}").fullmatch
# A date-time with an offset, or a date. Most code generators cannot type alternatives of `format`.
MOMENT_SCHEMA: dict[str, object] = {
    "type": "string",
    "pattern": (
        r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
        r"(T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d))?$"
    ),
}


@lru_cache(maxsize=16)  # all checks of a batch share one time
def render_timestamp(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")[: -len("+00:00")] + "Z"


def parse_date(text: str) -> date:
    """Parse `YYYY-MM-DD`. Raises ValueError."""
    if not IS_DATE(text):
        raise ValueError(f"Must be a date such as 2026-01-31, not {text[:MAX_SHOWN]!r}.")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"There is no day {text}.") from None


def parse_day_end(text: str) -> datetime:
    """Parse a timestamp; for a date, return its last microsecond in UTC. Raises ValueError."""
    if IS_DATE(text):
        return datetime.combine(parse_date(text), datetime.max.time(), UTC)
    return parse_timestamp(text)


def parse_timestamp(text: str) -> datetime:
    """Parse an ISO 8601 date-time with an offset, or a date, which means midnight UTC. Raises ValueError."""
    if IS_DATE(text):
        return datetime.combine(parse_date(text), datetime.min.time(), UTC)
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        if HAS_LOST_PLUS(text):
            raise ValueError("A + in a query string means a space. Write the offset with %2B.") from None
        raise ValueError(
            "Must be an ISO 8601 timestamp such as 2026-01-31T12:00:00Z, or a date such as 2026-01-31, "
            f"not {text[:MAX_SHOWN]!r}."
        ) from None
    raise ValueError(f"{text[:MAX_SHOWN]!r} has no offset from UTC. Add one, as in {moment.isoformat()}Z.")


def as_django_writes(created: str) -> str:
    """Return a time in Django's text format, which cursors and filters compare."""
    return created.replace("T", " ").removesuffix("Z").removesuffix(".000000")
