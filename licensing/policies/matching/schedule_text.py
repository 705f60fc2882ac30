"""Schedules in words, and as the text of a form: `mon-fri 09:00-18:00 Europe/Berlin`."""

import re
from collections.abc import Mapping
from itertools import takewhile

from licensing.policies.matching.schedules import DAYS, parse_days

RUN = 3  # minimum consecutive days that are shortened to "mon-wed"
FORM_RULE = "Write days, hours and a time zone: mon-fri 09:00-18:00 Europe/Berlin."


def clause_of_schedule(wanted: object) -> str:
    """Describe the schedule, as in "it is mon-fri 09:00-18:00 in Europe/Berlin"."""
    return f"it is {' in '.join(format_schedule(wanted))}"


def text_of_schedule(wanted: object) -> str:
    return " ".join(format_schedule(wanted))


def format_schedule(wanted: object) -> tuple[str, str]:
    """Format a valid schedule as (days and hours, time zone)."""
    known: Mapping[str, object] = wanted if isinstance(wanted, Mapping) else {}
    hours = f"{known['from']}-{known['to']}" if "from" in known else ""
    days = text_of_days(parse_days(known["days"], "")) if "days" in known else ""
    return " ".join(filter(None, (days, hours))), str(known["timeZone"])


def text_of_days(days: frozenset[int]) -> str:
    runs: list[list[int]] = []
    for day in sorted(days):
        if runs and runs[-1][-1] == day - 1:
            runs[-1].append(day)
        else:
            runs.append([day])
    return ", ".join(
        f"{DAYS[run[0]]}-{DAYS[run[-1]]}" if len(run) >= RUN else ", ".join(DAYS[day] for day in run) for run in runs
    )


ARE_DAYS = re.compile(r"[a-z][a-z, \-–]*", re.IGNORECASE).fullmatch
IS_TYPED_CLOCK = re.compile(r"[\d:]+").fullmatch
DAYS_IN_TEXT = re.compile(r"([a-z]+)(?:\s*[-–]\s*([a-z]+))?").fullmatch


def read_schedule(text: str) -> object:
    """Parse the text of a form. Returns malformed text unchanged, for validation to reject."""
    *words, zone = text.split() or [""]
    of_days = list(takewhile(has_no_digit, words))
    hours = " ".join(words[len(of_days) :])
    wanted: dict[str, object] = {}
    try:
        if of_days:
            wanted["days"] = read_list_of_days(" ".join(of_days))
        if hours:
            wanted |= read_hours(hours)
    except ValueError:
        return text.strip()
    return {**wanted, "timeZone": zone} if zone else ""


def has_no_digit(word: str) -> bool:
    return not word[0].isdigit()


def read_hours(text: str) -> dict[str, str]:
    """Return the hours of "09:00-18:00". Raises ValueError if malformed."""
    start, _, end = text.replace("–", "-").partition("-")
    start, end = start.strip(), end.strip()
    if not (IS_TYPED_CLOCK(start) and IS_TYPED_CLOCK(end)):
        raise ValueError(text)
    return {"from": start, "to": end}


def read_list_of_days(text: str) -> list[str]:
    """Return the days of "mon-wed, fri". Raises ValueError if malformed."""
    if ARE_DAYS(text) is None:
        raise ValueError(text)
    return [name for part in text.lower().split(",") for name in read_days(part.strip())]


def read_days(text: str) -> list[str]:
    """Return the days of "mon" or "mon-fri". Raises ValueError if malformed."""
    match = DAYS_IN_TEXT(text)
    if match is None:
        raise ValueError(text)
    first, last = DAYS.index(match[1]), DAYS.index(match[2] or match[1])
    return [DAYS[number % 7] for number in range(first, last + (1 if first <= last else 8))]
