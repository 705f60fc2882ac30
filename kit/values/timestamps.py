"""Timestamps in JSON: ISO 8601, with any offset in requests, with `Z` and microseconds in replies."""

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

import orjson

from kit.values.suggestions import MAX_SHOWN

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
match_date = re.compile(r"\d{4}-\d{2}-\d{2}").fullmatch
match_leap_second = re.compile(r"(\d{4}-\d{2}-\d{2}[Tt]\d{2}:59:)60(?:\.\d{1,6})?([Zz]|[+-]\d{2}:\d{2})").fullmatch
match_lost_plus = re.compile(r"\d{4}-\d{2}-\d{2}T[\d:.]+ \d{2}:?\d{2}").fullmatch
# A date-time with an offset, or a date. Most code generators cannot type alternatives of `format`.
MOMENT_SCHEMA: dict[str, object] = {
    "type": "string",
    "pattern": (
        r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
        r"([Tt]([01]\d|2[0-3]):[0-5]\d(:([0-5]\d|60)(\.\d{1,6})?)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d))?$"
    ),
}


@lru_cache(maxsize=16)  # all checks of a batch share one time
def render_timestamp(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    text = orjson.dumps(moment, option=orjson.OPT_UTC_Z)[1:-1].decode()  # several times as fast as isoformat
    return text if moment.microsecond else f"{text[:-1]}.000000Z"


def parse_date(text: str) -> date:
    """Parse `YYYY-MM-DD`. Raises ValueError."""
    if not match_date(text):
        raise ValueError(f"Must be a date such as 2026-01-31, not {text[:MAX_SHOWN]!r}.")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"There is no day {text}.") from None


def parse_day_end(text: str) -> datetime:
    """Parse a timestamp; for a date, return its last microsecond in UTC. Raises ValueError."""
    if match_date(text):
        return datetime.combine(parse_date(text), datetime.max.time(), UTC)
    return parse_timestamp(text)


def parse_timestamp(text: str) -> datetime:
    """Parse an ISO 8601 date-time with an offset, or a date, which means midnight UTC. Raises ValueError.

    RFC 3339 also allows `t` and `z`, and leap seconds: 23:59:60 UTC is read as the second after it.
    """
    if match_date(text):
        return datetime.combine(parse_date(text), datetime.min.time(), UTC)
    try:
        if (leap := match_leap_second(text)) is not None:
            return after_leap_second(f"{leap[1]}59{leap[2]}")
        moment = datetime.fromisoformat(text.upper())
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        if match_lost_plus(text):
            raise ValueError("A + in a query string means a space. Write the offset with %2B.") from None
        raise ValueError(
            "Must be an ISO 8601 timestamp such as 2026-01-31T12:00:00Z, or a date such as 2026-01-31, "
            f"not {text[:MAX_SHOWN]!r}."
        ) from None
    raise ValueError(f"{text[:MAX_SHOWN]!r} has no offset from UTC. Add one, as in {moment.isoformat()}Z.")


def after_leap_second(before: str) -> datetime:
    """Return the second after this one. Raises ValueError if no leap second follows it, which is at 23:59:59 UTC."""
    moment = datetime.fromisoformat(before.upper()).astimezone(UTC)
    if (moment.hour, moment.minute) != (23, 59):
        raise ValueError(before)
    return moment + timedelta(seconds=1)


def as_django_writes(created: str) -> str:
    """Return a time in Django's text format, which cursors and filters compare."""
    return created.replace("T", " ").removesuffix("Z").removesuffix(".000000")
