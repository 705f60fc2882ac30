"""Rules for every query string."""

from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from kit.http.errors import InvalidRequest
from kit.values.faults import FaultKind
from kit.values.suggestions import did_you_mean

PAGING = frozenset({"page", "offset", "skip", "after", "starting_after"})  # what other APIs page with
PAGING_HINT = " Lists continue with `cursor`: pass the `nextCursor` of the page before."


def check_utf8(query: str) -> None:
    """Raise InvalidRequest for parameters that are not UTF-8; Django would silently replace such bytes."""
    for part in query.split("&"):
        try:
            unquote_to_bytes(part).decode()
        except UnicodeDecodeError:
            name = part.partition("=")[0][:100]
            raise InvalidRequest(f"{name} is not UTF-8.", param=name) from None


def check_query(parameters: Iterable[tuple[str, list[str]]], known: frozenset[str]) -> None:
    """Raise InvalidRequest for unknown parameters, and for repeated ones except `field[in]`."""
    for name, values in parameters:
        if name not in known:
            hint = PAGING_HINT if name in PAGING and "cursor" in known else did_you_mean(name, sorted(known))
            message = f"There is no query parameter {name[:100]!r} here.{hint}"
            raise InvalidRequest(message, param=name[:100], kind=FaultKind.UNKNOWN)
        if len(values) > 1 and not name.endswith("[in]"):
            raise InvalidRequest(f"{name} is given {len(values)} times.", param=name)
        if any("\0" in value for value in values):
            raise InvalidRequest("Text must not contain the character U+0000.", param=name)
