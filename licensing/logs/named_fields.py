"""Reads logs whose fields have names: JSON lines, and columns that a line `#Fields` names.

A format is a table: role of a value → the names of the fields that may hold it, separated by blanks. The first that is
not empty counts. `a>b` is `b` within the object `a`. `date+time` are two fields. A `?` says that all may be absent.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

import orjson

from licensing.logs.prefixes import BOM, without_prefix
from licensing.logs.requests import NOT_A_REQUEST, Malformed, Visit, build_visit, without_dash
from licensing.logs.times import parse_time

HEADER = "#Fields:"
find_columns = re.compile(r'"([^"]*+)"|(\S++)').findall

Decoder = Callable[[str], str]
Path = tuple[str, ...]  # of a field within nested objects


def unquote_text(text: str) -> str:
    return unquote(text, "latin-1") if "%" in text else text


def unquote_twice(text: str) -> str:
    return unquote_text(unquote_text(text))


class NamedFields(NamedTuple):
    """A format whose fields have names.

    `decoders` undo how the program encodes the values of a role. `distinctive` is a field that only this format has.
    Lines with all names in `own_names` and no request are what the program logs about itself.
    """

    roles: Mapping[str, str]
    decoders: Mapping[str, Decoder] = {}
    own_names: str = ""
    distinctive: str = ""

    def decode(self, role: str, text: str) -> str:
        decoder = self.decoders.get(role)
        return text if decoder is None else decoder(text)


@lru_cache(maxsize=200)
def parse_alternatives(names: str) -> tuple[tuple[Path, ...], ...]:
    """Return the alternatives for a role, each as the paths of its fields."""
    alternatives = [name.split("+") for name in names.split() if name != "?"]
    return tuple(tuple(tuple(part.split(">")) for part in parts) for parts in alternatives)


class JsonLines:
    def __init__(self, named_fields: NamedFields) -> None:
        self.fields = named_fields

    def __call__(self, line: str) -> Visit | None:
        row = parse_json_line(line)
        if self.is_own(row):
            return None
        values: dict[str, str] = {}
        for role, names in self.fields.roles.items():
            text = self.value(row, names)
            if text is None:
                raise Malformed(f"There is no {first_name(names)!r}. Add it to the fields that are logged.")
            if text:
                values[role] = self.fields.decode(role, text)
        if "uri" in values and "method" not in values and "request" not in values:
            raise Malformed(NOT_A_REQUEST)
        return build_visit(parse_time(values.get("time", "")), values)

    def value(self, row: dict[str, object], names: str) -> str | None:
        """Return the value of a role, empty if it is; None if the row has none of its fields."""
        is_present = names.endswith("?")
        for paths in parse_alternatives(names):
            texts = [text_at(row, path) for path in paths]
            parts = [text for text in texts if text is not None]
            if len(parts) == len(paths):
                is_present = True
                if text := join_parts(parts):
                    return text
        return "" if is_present else None

    def is_own(self, row: dict[str, object]) -> bool:
        own_names = self.fields.own_names.split()
        return bool(own_names) and row.keys() >= set(own_names) and not any(name.startswith("request") for name in row)

    def recognises(self, line: str) -> bool:
        try:
            row = parse_json_line(line)
        except Malformed:
            return False
        if self.is_own(row):
            return True
        return all(self.value(row, names) is not None for names in self.fields.roles.values())


class Columns:
    """Parses logs whose line `#Fields` names the columns, in the W3C's extended format."""

    def __init__(self, named_fields: NamedFields) -> None:
        self.fields = named_fields
        self.places: dict[str, list[list[int]]] = {}
        self.width = 0

    def __call__(self, line: str) -> Visit | None:
        line = line.removeprefix(BOM)
        if line.startswith("#"):
            if line.startswith(HEADER):
                self.read_header(line)
            return None
        if not self.places:
            raise Malformed("The line #Fields, which names the columns, is missing before this line.")
        columns = split_columns(line)
        if len(columns) != self.width:
            raise Malformed(f"This line has {len(columns)} columns; #Fields names {self.width}.")
        values: dict[str, str] = {}
        for role, alternatives in self.places.items():
            for indexes in alternatives:
                if text := join_parts([without_dash(columns[index]) for index in indexes]):
                    values[role] = self.fields.decode(role, text)
                    break
        if "uri" not in values or "method" not in values:
            raise Malformed(NOT_A_REQUEST)
        return build_visit(parse_time(values.get("time", "")), values)

    def read_header(self, line: str) -> None:
        """Read the names of the columns. Raises Malformed if one is missing that is needed."""
        columns = {name.lower(): index for index, name in enumerate(line[len(HEADER) :].split())}
        self.places = {}
        alternatives_by_role: dict[str, list[list[int]]] = {}
        for role, names in self.fields.roles.items():
            alternatives_by_role[role] = []
            for paths in parse_alternatives(names):
                indexes = [columns[name.lower()] for (name,) in paths if name.lower() in columns]
                if len(indexes) == len(paths):
                    alternatives_by_role[role].append(indexes)
            if not alternatives_by_role[role] and not names.endswith("?"):
                raise Malformed(f"#Fields names no {first_name(names)}. Add it to the fields that are logged.")
        self.places = alternatives_by_role
        self.width = len(columns)

    def recognises(self, line: str) -> bool:
        line = line.removeprefix(BOM)
        return line.startswith(HEADER) and self.fields.distinctive in line[len(HEADER) :]


def split_columns(line: str) -> list[str]:
    if "\t" in line:
        return line.split("\t")
    if '"' in line:
        return [quoted or plain for quoted, plain in find_columns(line)]
    return line.split()


def join_parts(parts: list[str]) -> str:
    """Return a value; date and time, of two fields, are in UTC."""
    if len(parts) == 1:
        return parts[0]
    return f"{parts[0]}T{parts[1]}+00:00" if all(parts) else ""


def first_name(names: str) -> str:
    """Return the name of the field that usually has a role's value."""
    return "+".join(">".join(path) for path in parse_alternatives(names)[0])


def text_at(row: dict[str, object], path: Path) -> str | None:
    """Return the text or number at a path, as Latin-1 characters of UTF-8; None if the row has no such field."""
    value: object = row
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, str):
        return without_dash(value if value.isascii() else value.encode("utf-8", "surrogatepass").decode("latin-1"))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None if isinstance(value, dict) else ""


def parse_json_line(line: str) -> dict[str, object]:
    if not line.startswith("{") or line.startswith('{"log":"'):
        line = without_prefix(line)
    row = None
    for text in (line.encode("latin-1"), line):  # nginx writes bytes as they came, also those that are no UTF-8
        with suppress(ValueError):
            row = orjson.loads(text)
            break
    else:
        raise Malformed("This is not JSON.")
    if not isinstance(row, dict):
        raise Malformed("This is not a JSON object.")
    return row
