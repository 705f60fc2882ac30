"""Strict JSON parsing: one object, nothing that two parsers could read differently (docs/reference/api.md)."""

import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

import orjson
from django.http import HttpRequest

from kit.http.errors import ApiError, InvalidRequest, RequestTooLarge, UnsupportedMediaType, ValidationFailed
from kit.http.rendering import JSON
from kit.values.json_values import JsonObject, JsonValue
from kit.values.numbers import INT64
from kit.values.suggestions import shown

ROWS = "items"  # the field of a bulk request's rows
PATCH_TYPES = (JSON, "application/merge-patch+json")  # JSON merge patch (RFC 7396) applies to top-level fields
MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32
BACKSLASH = ord("\\")  # searching for bytes takes ten times as long
GZIP = b"\x1f\x8b"  # the beginning of a compressed body
OUTSIDE_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"|[^][{}"]+')  # a string, or text without brackets
BRACES_TO_BRACKETS = bytes.maketrans(b"{}", b"[]")
find_charset = re.compile(r";\s*charset\s*=([^;]*)", re.IGNORECASE).search
READABLE = {"utf-8", "utf8", "us-ascii"}
LEAST_INFINITE = Decimal(2**1024 - 2**970)  # numbers from here on round to infinity


def parse_integer(digits: str) -> int:
    # Check the length first: int() is slow for long digit strings.
    if len(digits) > 20 or (value := int(digits)) not in INT64:
        raise InvalidRequest("The body has an integer that does not fit into 64 bits.")
    return value


def parse_float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise InvalidRequest("The body has a number that is too large.")
    return value


def parse_decimal(text: str) -> Decimal:
    """Parse a number with all its digits, within the range of a float."""
    try:
        value = Decimal(text)
    except InvalidOperation:  # exponent out of range
        value = Decimal(float(text))
    if value.copy_abs() >= LEAST_INFINITE:
        raise InvalidRequest("The body has a number that is too large.")
    return value


def refuse_constant(name: str) -> None:
    raise InvalidRequest(f"The body is not JSON: it has {name}.")


def first_repeated(pairs: list[tuple[str, JsonValue]]) -> str:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            return name
        seen.add(name)
    raise ValueError("no name is repeated")


def object_of_pairs(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise InvalidRequest(
            "The body has a key twice in one object.", param=first_repeated(pairs).encode("ascii", "replace").decode()
        )
    return fields


def make_decoder(parse_number: Callable[[str], float | Decimal]) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=object_of_pairs,
        parse_int=parse_integer,
        parse_float=parse_number,
        parse_constant=refuse_constant,
    )


DECODER = make_decoder(parse_float)
EXACT_DECODER = make_decoder(parse_decimal)  # for bodies with money, which floats would round


class Place(NamedTuple):
    """Where a value is in a body. Its text is only built for an error, because names may be long."""

    parent: "Place | str"
    name: str | int

    def __str__(self) -> str:
        names: list[str] = []
        place: Place | str = self
        while isinstance(place, Place):
            names.append(f"[{place.name}]" if isinstance(place.name, int) else f".{place.name}")
            place = place.parent
        return (place + "".join(reversed(names))).removeprefix("" if place else ".")


def check_text(text: str, place: Place | str) -> None:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidRequest("The body has half of a surrogate pair, which is no character.", param=str(place) or None)
    if "\0" in text:
        raise ValidationFailed("Text must not contain the character U+0000.", param=str(place) or None)


def check_values(value: object, place: Place | str, depth: int) -> None:
    """Check every string and the nesting of a parsed body; `depth` is the number of enclosing containers."""
    if isinstance(value, str):
        check_text(value, place)
    elif isinstance(value, dict | list):
        if depth == MAX_DEPTH:
            raise InvalidRequest(f"The body is nested deeper than {MAX_DEPTH} levels.")
        if isinstance(value, dict):
            for name, nested in value.items():
                check_text(name, place)
                check_values(nested, Place(place, name), depth + 1)
        else:
            for index, nested in enumerate(value):
                check_values(nested, Place(place, index), depth + 1)


class RefusedRow(JsonObject):
    """Stands for a row of a bulk request that `check_values` refuses. Its one text has the row, in ASCII."""

    def __init__(self, row: JsonValue, error: InvalidRequest) -> None:
        super().__init__(refused=json.dumps(row, sort_keys=True, default=str))
        self.error = ValidationFailed(message_for("The row", error), param=error.param)


def check_row(row: JsonValue) -> JsonValue:
    """Return the row, or a RefusedRow in its place."""
    try:
        check_values(row, "", 0)
    except InvalidRequest as error:
        return RefusedRow(row, error)
    return row


def count_texts(value: JsonValue, depth: int = 0) -> int:
    """Count the strings in a value, including keys. Raises ValueError for numbers or beyond MAX_DEPTH."""
    if isinstance(value, str):
        return 1
    if isinstance(value, dict):
        if depth == MAX_DEPTH:
            raise ValueError
        texts = len(value)
        for nested in value.values():
            if type(nested) is str:
                texts += 1
            elif nested is not None and type(nested) is not bool:
                texts += count_texts(nested, depth + 1)
        return texts
    if isinstance(value, list):
        if depth == MAX_DEPTH:
            raise ValueError
        return sum([count_texts(nested, depth + 1) for nested in value])
    if value is None or isinstance(value, bool):
        return 0
    raise ValueError


def parse_plain(raw: bytes) -> JsonObject | None:
    """Parse `raw` fast if it contains no escapes, numbers or repeated keys; otherwise return None.

    Several times faster than the strict decoder, which handles everything else and reports errors. Repeated keys show
    in the count of quotation marks: each remaining string has two.
    """
    if BACKSLASH in raw:
        return None
    try:
        value = orjson.loads(raw)
        if not isinstance(value, dict):
            return None
        return value if 2 * count_texts(value) == raw.count(b'"') else None
    except ValueError:
        return None


def decode_json(text: str, decoder: json.JSONDecoder) -> JsonValue:
    """Decode JSON. Raises InvalidRequest; checks neither depth nor characters."""
    try:
        return decoder.decode(text)
    except RecursionError:
        raise InvalidRequest(f"The body is nested deeper than {MAX_DEPTH} levels.") from None
    except json.JSONDecodeError as error:
        place = f"(line {error.lineno}, column {error.colno})"
        raise InvalidRequest(f"The body is not JSON: {error.msg} {place}.{json_hint(text, error)}") from None


def json_hint(text: str, error: json.JSONDecodeError) -> str:
    """Return how to mend a common mistake at this place; empty if it is another."""
    rest, before = text[error.pos :].lstrip(), text[: error.pos].rstrip()
    if text.startswith("\ufeff"):
        return " Send it without a byte order mark."
    if not rest:
        return " It ends too early."
    if not before and rest[0] not in '{["':
        return " It must begin with {."
    if error.msg == "Extra data":
        return " Send one object."
    if rest[0] == "'":
        return " Use double quotes."
    if before.endswith(",") and rest[0] in "}]":
        return " Remove the comma before it."
    return ""


def message_for(subject: str, error: ApiError) -> str:
    """Return the error's message with this subject in place of "The body"."""
    return error.message.replace("The body", subject)


def parse_value(text: str, subject: str, path: str = "") -> JsonValue:
    """Parse JSON from somewhere other than a body, just as strictly; `path` becomes the error's `param`.

    Raises InvalidRequest with a message about `subject`, such as "The cell".
    """
    try:
        value = decode_json(text, DECODER)
        check_values(value, path, 0)
    except InvalidRequest as error:
        raise InvalidRequest(message_for(subject, error), param=error.param or path or None) from None
    return value


def parse_object(raw: bytes, *, exact: bool = False, has_rows: bool = False) -> JsonObject:
    """Parse the JSON object in `raw`; `exact` returns numbers with a point or an exponent as Decimals.

    Raises InvalidRequest, or ValidationFailed for U+0000 in a string. With `has_rows`, a row with such a fault becomes
    a RefusedRow instead.
    """
    plain = parse_plain(raw)
    if plain is not None:
        return plain
    if not raw:
        raise InvalidRequest("The request needs a body: a JSON object.")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        hint = " It is compressed: send it without Content-Encoding." if raw.startswith(GZIP) else ""
        raise InvalidRequest(f"The body is not UTF-8.{hint}") from None
    value = decode_json(text, EXACT_DECODER if exact else DECODER)
    if not isinstance(value, dict):
        hint = " An array belongs in a field of it, such as `items`." if isinstance(value, list) else ""
        given = "a string" if isinstance(value, str) else shown(value)  # the string may be a secret
        raise InvalidRequest(f"The body must be a JSON object, not {given}.{hint}")
    # Only escapes can produce half a surrogate pair or U+0000.
    if b"\\u" in raw or not is_shallow(raw):
        rows = value.get(ROWS) if has_rows else None
        if isinstance(rows, list):
            value[ROWS] = [check_row(row) for row in rows]
            check_values({**value, ROWS: None}, "", 0)
        else:
            check_values(value, "", 0)
    return value


def is_shallow(raw: bytes) -> bool:
    """Whether valid JSON surely stays within MAX_DEPTH. False means that only a full walk can tell."""
    if raw.count(b"{") + raw.count(b"[") <= MAX_DEPTH:
        return True
    brackets = OUTSIDE_BRACKETS.sub(b"", raw).translate(BRACES_TO_BRACKETS)
    for _ in range(MAX_DEPTH):  # each iteration removes the innermost level
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return True
    return False


def check_media_type(content_type: str, allowed: tuple[str, ...] = (JSON,)) -> None:
    """Raise UnsupportedMediaType for another media type or a charset other than UTF-8. No Content-Type means JSON."""
    if content_type == JSON:  # fast path: nearly all requests
        return
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type and media_type not in allowed:
        raise UnsupportedMediaType(f"Send application/json, not {media_type[:100]}.")
    charset_match = find_charset(content_type)
    if charset_match is not None:
        charset = charset_match[1].strip().strip('"')
        if charset.lower() not in READABLE:
            raise UnsupportedMediaType(f"Send the body in UTF-8, not in {charset[:100]!r}.")


def check_length(length: int) -> None:
    if length > MAX_BYTES:
        raise RequestTooLarge("The body is larger than 1 MiB.")


def read_object(request: HttpRequest, *, exact: bool = False, has_rows: bool = False) -> JsonObject:
    """Parse the request's body. Raises RequestTooLarge and UnsupportedMediaType before reading it."""
    check_media_type(request.META.get("CONTENT_TYPE", ""), PATCH_TYPES if request.method == "PATCH" else (JSON,))
    check_length(int(request.META.get("CONTENT_LENGTH") or 0))
    return parse_object(request.body, exact=exact, has_rows=has_rows)
