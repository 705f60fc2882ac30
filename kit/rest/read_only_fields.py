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
OWNED = "The service sets this field: send the value that you read, or leave it out."


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
        sent, current = body[name], stored.get(name)
        if is_equal(sent, current) or (name in growing and is_earlier(sent, current)):
            continue
        raise ValidationFailed(OWNED, param=name)


def is_equal(sent: object, current: object) -> bool:
    """Whether a client can mean the shown value: an amount may be text, and a time may have another offset."""
    if is_same(sent, current):
        return True
    if isinstance(sent, dict) and isinstance(current, dict):
        return sent.keys() == current.keys() and all(is_equal(sent[name], current[name]) for name in sent)
    if isinstance(sent, list) and isinstance(current, list):
        return len(sent) == len(current) and all(map(is_equal, sent, current))
    if isinstance(current, bool) or isinstance(sent, bool) or not isinstance(sent, str | int | float | Decimal):
        return False
    if isinstance(current, int | float):
        return number_of(sent) == number_of(current)
    return isinstance(sent, str) and isinstance(current, str) and is_same_time(sent, current)


def number_of(value: str | float | Decimal) -> Decimal | None:
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None


def is_same_time(sent: str, current: str) -> bool:
    try:
        return parse_timestamp(sent) == parse_timestamp(current)
    except ValueError:
        return False


def is_earlier(sent: object, current: object) -> bool:
    """Whether a growing value was read before: smaller numbers, earlier times, null."""
    if isinstance(sent, dict) and isinstance(current, dict):
        return sent.keys() == current.keys() and all(
            name in METERS or is_equal(sent[name], current[name]) or is_earlier(sent[name], current[name])
            for name in sent
        )
    if sent is None:
        return True
    if isinstance(sent, bool) or isinstance(current, bool):
        return False
    if isinstance(sent, int) and isinstance(current, int):
        return 0 <= sent <= current
    if isinstance(sent, str) and isinstance(current, str):
        try:
            return parse_timestamp(sent) <= parse_timestamp(current)
        except ValueError:
            return False
    return False
