"""Schedules in words, and as the text of a form: `mon-fri 09:00-18:00 Europe/Berlin`."""

import re
from collections.abc import Mapping
from itertools import takewhile

from licensing.policies.matching.schedules import DAYS, parse_days

MIN_RUN = 3  # minimum consecutive days that are shortened to "mon-wed"
FORM_RULE = "Write days, hours and a time zone: mon-fri 09:00-18:00 Europe/Berlin."
match_days = re.compile(r"[a-z][a-z, \-–]*", re.IGNORECASE).fullmatch
match_clock = re.compile(r"[\d:]+").fullmatch
match_day_range = re.compile(r"([a-z]+)(?:\s*[-–]\s*([a-z]+))?").fullmatch


def clause_of_schedule(schedule: object) -> str:
    """Describe the schedule, as in "it is mon-fri 09:00-18:00 in Europe/Berlin"."""
    return f"it is {' in '.join(format_schedule(schedule))}"


def text_of_schedule(schedule: object) -> str:
    return " ".join(format_schedule(schedule))


def format_schedule(schedule: object) -> tuple[str, str]:
    """Format a valid schedule as (days and hours, time zone)."""
    fields: Mapping[str, object] = schedule if isinstance(schedule, Mapping) else {}
    hours = f"{fields['from']}-{fields['to']}" if "from" in fields else ""
    days = format_days(parse_days(fields["days"], "")) if "days" in fields else ""
    return " ".join(filter(None, (days, hours))), str(fields["timeZone"])


def format_days(days: frozenset[int]) -> str:
    runs: list[list[int]] = []
    for day in sorted(days):
        if runs and runs[-1][-1] == day - 1:
            runs[-1].append(day)
        else:
            runs.append([day])
    return ", ".join(map(format_run, runs))


def format_run(days: list[int]) -> str:
    """Format consecutive days, as in "mon-wed" or "sat, sun"."""
    if len(days) >= MIN_RUN:
        return f"{DAYS[days[0]]}-{DAYS[days[-1]]}"
    return ", ".join(DAYS[day] for day in days)


def read_schedule(text: str) -> object:
    """Parse the text of a form. Returns malformed text unchanged, for validation to reject."""
    *parts, zone = text.split() or [""]
    day_words = list(takewhile(has_no_digit, parts))
    hours = " ".join(parts[len(day_words) :])
    schedule: dict[str, object] = {}
    try:
        if day_words:
            schedule["days"] = parse_days_text(" ".join(day_words))
        if hours:
            schedule |= parse_hours(hours)
    except ValueError:
        return text.strip()
    return {**schedule, "timeZone": zone} if zone else ""


def has_no_digit(word: str) -> bool:
    return not word[0].isdigit()


def parse_hours(text: str) -> dict[str, str]:
    """Return the hours of "09:00-18:00". Raises ValueError if malformed."""
    start, _, end = map(str.strip, text.replace("–", "-").partition("-"))
    if not (match_clock(start) and match_clock(end)):
        raise ValueError(text)
    return {"from": start, "to": end}


def parse_days_text(text: str) -> list[str]:
    """Return the days of "mon-wed, fri". Raises ValueError if malformed."""
    if match_days(text) is None:
        raise ValueError(text)
    return [name for part in text.lower().split(",") for name in parse_day_range(part.strip())]


def parse_day_range(text: str) -> list[str]:
    """Return the days of "mon" or "mon-fri". Raises ValueError if malformed."""
    match = match_day_range(text)
    if match is None:
        raise ValueError(text)
    first = DAYS.index(match[1])
    last = DAYS.index(match[2] or match[1])
    if last < first:
        last += len(DAYS)  # past the end of the week
    return [DAYS[number % len(DAYS)] for number in range(first, last + 1)]
