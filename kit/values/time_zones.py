"""Names of time zones (IANA)."""

from difflib import get_close_matches
from functools import cache
from zoneinfo import available_timezones

FILES_OF_OTHER_KINDS = {"localtime", "Factory", "posixrules"}  # files in the database that are not time zones
CONTINENTS = ("Africa/", "America/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/")
MAX_NAME = 64  # characters; the longest name has 32


@cache
def zone_names() -> frozenset[str]:
    return frozenset(available_timezones() - FILES_OF_OTHER_KINDS)


def parse_zone_name(text: str) -> str:
    """Return the name unchanged. Raises ValueError unless it is that of a time zone."""
    if text not in zone_names():
        raise ValueError(f"Must be the name of a time zone such as Europe/Berlin.{near_zone(text)}")
    return text


def near_zone(value: object) -> str:
    """Return a sentence with the zone whose name is nearest; empty if none is near."""
    if not isinstance(value, str) or len(value) > 100:
        return ""
    full_names = {name.lower(): name for name in sorted(zone_names())}
    full_names |= {name.rpartition("/")[2]: full for name, full in full_names.items() if full.startswith(CONTINENTS)}
    near = get_close_matches(value.lower().replace(" ", "_"), full_names, 1, 0.8)
    return f" Did you mean {full_names[near[0]]}?" if near else ""
