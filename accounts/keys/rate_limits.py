"""A key's own rate limit, below the limits of its account's plan."""

import re
from typing import TypedDict

from kit.http.errors import ValidationFailed

SECONDS = {"minute": 60, "hour": 3_600, "day": 86_400}
PERIODS = tuple(SECONDS)
MAX_REQUESTS = 1_000_000_000
IN_TEXT = re.compile(r"([0-9]{1,10}) ?(?:/|a|an|per) ?(minute|hour|day)").fullmatch


class RateLimit(TypedDict):
    """At most `requests` per `period`: the UTC minute, hour or day."""

    requests: int
    period: str


def in_seconds(rate_limit: RateLimit | None) -> tuple[int, int] | None:
    """Return a limit as requests and seconds; None without one."""
    return None if rate_limit is None else (rate_limit["requests"], SECONDS[rate_limit["period"]])


def check_below_plan(rate_limit: RateLimit | None, limits: tuple[int, int]) -> None:
    """Raise ValidationFailed unless the limit is below the plan's requests per minute and day."""
    if rate_limit is None:
        return
    per_minute, per_day = limits
    seconds = SECONDS[rate_limit["period"]]
    of_plan = min(per_minute * (seconds // 60), per_day)
    if rate_limit["requests"] >= of_plan:
        raise ValidationFailed(
            f"Must be below the plan's limit of {in_words({**rate_limit, 'requests': of_plan})}. Without `rateLimit`, "
            "only the plan limits the key.",
            param="rateLimit.requests",
        )


def allows_no_more(rate_limit: RateLimit | None, other: RateLimit | None) -> bool:
    """Whether whatever a limit allows, the other one allows too. No limit allows everything."""
    if other is None:
        return True
    if rate_limit is None:
        return False
    seconds, seconds_of_other = SECONDS[rate_limit["period"]], SECONDS[other["period"]]
    # All requests of a longer window may come within one of the other's windows.
    times = max(seconds_of_other // seconds, 1)
    return rate_limit["requests"] * times <= other["requests"]


def parse_rate_limit(text: str) -> RateLimit:
    """Read a limit as people write it: 20/minute, 500 an hour. Raises ValueError."""
    match = IN_TEXT(text.strip())
    if match is None:
        raise ValueError("Must be a number and a period: 20/minute, 500/hour or 5000/day.")
    return {"requests": int(match[1]), "period": match[2]}


def in_words(rate_limit: RateLimit | None) -> str:
    if rate_limit is None:
        return "the plan's alone"
    return f"{rate_limit['requests']} {'an' if rate_limit['period'] == 'hour' else 'a'} {rate_limit['period']}"
