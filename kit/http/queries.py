"""Rules for every query string."""

import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from kit.http.errors import InvalidRequest
from kit.values.faults import FaultKind
from kit.values.suggestions import did_you_mean

PAGING = frozenset({"page", "offset", "skip", "after", "starting_after"})  # what other APIs page with
PAGING_HINT = " Lists continue with `cursor`: pass the `nextCursor` of the page before."
WINDOW = frozenset(
    {"from", "to", "since", "until", "start", "end", "startTime", "endTime", "createdAfter", "createdBefore"}
)
WINDOW_HINT = " Use `startDate` and `endDate`, as in startDate=2026-01-01&endDate=2026-01-31."
CREATED_HINT = " Use `created[gte]` and `created[lt]`, as in created[gte]=2026-01-01&created[lt]=2026-02-01."
AFTER_FIELD = re.compile(r"\[|_|\.|[^\w-]")  # what separates a field from an operator, in any API's spelling


def check_utf8(query: str) -> None:
    """Raise InvalidRequest for parameters that are not UTF-8; Django would silently replace such bytes."""
    for part in query.split("&"):
        try:
            unquote_to_bytes(part).decode()
        except UnicodeDecodeError:
            name = part.partition("=")[0][:100]
            raise InvalidRequest(f"{name} is not UTF-8.", param=name) from None


def check_query(parameters: Iterable[tuple[str, list[str]]], allowed_names: frozenset[str]) -> None:
    """Raise InvalidRequest for unknown parameters, and for repeated ones except `field[in]`."""
    for name, values in parameters:
        if name not in allowed_names:
            message = f"There is no query parameter {name[:100]!r} here.{hint_for(name, allowed_names)}"
            raise InvalidRequest(message, param=name[:100], kind=FaultKind.UNKNOWN)
        if len(values) > 1 and not name.endswith("[in]"):
            raise InvalidRequest(f"{name} is given {len(values)} times.", param=name)
        if any("\0" in value for value in values):
            raise InvalidRequest("Text must not contain the character U+0000.", param=name)


def hint_for(name: str, allowed_names: frozenset[str]) -> str:
    """Return what to send instead of an unknown parameter: its field's operators, a similar name, or all names."""
    if name in PAGING and "cursor" in allowed_names:
        return PAGING_HINT
    if name in WINDOW and "startDate" in allowed_names:
        return WINDOW_HINT
    if name in WINDOW and "created[gte]" in allowed_names:
        return CREATED_HINT
    bases = {allowed_name.partition("[")[0] for allowed_name in allowed_names}
    base = max(
        (
            allowed_name
            for allowed_name in bases
            if name.startswith(allowed_name) and AFTER_FIELD.match(name, len(allowed_name))
        ),
        key=len,
        default="",
    )
    filters = sorted(allowed_name for allowed_name in allowed_names if allowed_name.partition("[")[0] == base)
    if len(filters) > 1:
        return f" Filters of `{base}`: {', '.join(filters)}."
    similar = did_you_mean(name, sorted(allowed_names))
    if similar or not allowed_names:
        return similar or " This request takes none."
    plain = sorted(
        allowed_name
        for allowed_name in allowed_names
        if "[" not in allowed_name or allowed_name.partition("[")[0] not in allowed_names
    )
    return f" Known: {', '.join(plain)}."
