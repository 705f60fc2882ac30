"""Fields that the service owns, in the body of a change: the stored value is ignored, another one is refused."""

from collections.abc import Collection, Mapping
from decimal import Decimal, InvalidOperation

import orjson

from kit.http.errors import ValidationFailed
from kit.http.rendering import render_json
from kit.values.json_values import is_same
from kit.values.timestamps import parse_timestamp

# Members of statistics that change with every request, in either direction.
METERS = frozenset({"used", "remaining", "reset"})


def check_owned(
    body: Mapping[str, object], shown: Mapping[str, object], names: Collection[str], growing: Collection[str]
) -> None:
    """Raise ValidationFailed if a field in `names` has another value than the resource shows.

    Fields in `growing`, such as statistics, may have an earlier value: they grow after the client has read them.
    """
    stored = orjson.loads(render_json(dict(shown)))
    for name in names:
        if name not in body:
            continue
        given, current = body[name], stored.get(name)
        if is_equal(given, current) or (name in growing and is_earlier(given, current)):
            continue
        raise ValidationFailed(
            "The service sets this field: send the value that you read, or leave it out.", param=name
        )


def is_equal(given: object, current: object) -> bool:
    """Whether a client can mean the shown value: an amount may be text, and a time may have another offset."""
    if is_same(given, current):
        return True
    if isinstance(given, dict) and isinstance(current, dict):
        return given.keys() == current.keys() and all(is_equal(given[name], current[name]) for name in given)
    if isinstance(given, list) and isinstance(current, list):
        return len(given) == len(current) and all(map(is_equal, given, current))
    if isinstance(current, bool) or isinstance(given, bool) or not isinstance(given, str | int | float | Decimal):
        return False
    if isinstance(current, int | float):
        return number_of(given) == number_of(current)
    return isinstance(given, str) and isinstance(current, str) and is_same_time(given, current)


def number_of(value: str | float | Decimal) -> Decimal | None:
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None


def is_same_time(given: str, current: str) -> bool:
    try:
        return parse_timestamp(given) == parse_timestamp(current)
    except ValueError:
        return False


def is_earlier(given: object, current: object) -> bool:
    """Whether a growing value was read before: smaller numbers, earlier times, null."""
    if isinstance(given, dict) and isinstance(current, dict):
        return given.keys() == current.keys() and all(
            name in METERS or is_equal(given[name], current[name]) or is_earlier(given[name], current[name])
            for name in given
        )
    if given is None:
        return True
    if isinstance(given, bool) or isinstance(current, bool):
        return False
    if isinstance(given, int) and isinstance(current, int):
        return 0 <= given <= current
    if isinstance(given, str) and isinstance(current, str):
        try:
            return parse_timestamp(given) <= parse_timestamp(current)
        except ValueError:
            return False
    return False
