"""From a file's columns to content's fields: a row as a request to the API would send it."""

import re
from collections import abc
from dataclasses import dataclass

from kit.http.errors import InvalidRequest
from kit.http.parsing import parse_value
from kit.rest.metadata import IS_KEY
from kit.values.json_values import JsonObject, JsonValue
from licensing.content.metadata import ATTRIBUTES, Kind
from licensing.content.serializers import ContentSerializer

FIELDS = tuple(name for name, one in ContentSerializer().fields.items() if not one.read_only)
TAGS = ("tags", *(f"metadata.{one.name}" for one in ATTRIBUTES if one.kind == Kind.TEXTS))
INTEGERS = tuple(f"metadata.{one.name}" for one in ATTRIBUTES if one.kind == Kind.INTEGER)
IS_INTEGER = re.compile(r"-?[0-9]{1,18}").fullmatch


def is_target(name: str) -> bool:
    """Whether it is a field of content, or one key of its metadata, as `metadata.author`."""
    first, dot, key = name.partition(".")
    return name in FIELDS or (first == "metadata" and bool(dot) and bool(IS_KEY(key)))


def parse_pairs(option: str, pairs: list[str]) -> dict[str, str]:
    """`["title=name"]` as `{"title": "name"}`. Raises InvalidRequest for what is no field of content."""
    parsed: dict[str, str] = {}
    for pair in pairs:
        target, _, value = pair.partition("=")
        if not value:
            raise InvalidRequest(f"{option} {pair}: write it as {option} {target or 'title'}=…")
        if not is_target(target):
            fields = ", ".join(FIELDS)
            raise InvalidRequest(
                f"{option} {pair}: content has no field {target!r} to set. It has {fields}, "
                "metadata.author and other metadata keys."
            )
        if target in parsed:
            raise InvalidRequest(f"{option} {pair}: {target} is given twice.")
        parsed[target] = value
    return parsed


def from_text(target: str, text: str) -> JsonValue:
    """The JSON value that a CSV cell stands for. Raises InvalidRequest for JSON that no body may have."""
    if target in TAGS and not text.lstrip().startswith("["):
        return [tag.strip() for tag in text.split(";") if tag.strip()]
    if target in (*TAGS, "metadata"):
        return parse_value(text, "The cell", target)
    if target in INTEGERS and IS_INTEGER(text.strip()):
        return int(text)
    return text


@dataclass(frozen=True, slots=True)
class Mapping:
    """Which column gives each field, and what an item has whose row gives none."""

    columns: dict[str, str]
    defaults: dict[str, JsonValue]
    is_csv: bool

    def body(self, row: abc.Mapping[str, JsonValue]) -> JsonObject:
        """An empty CSV cell counts as absent, a JSON null as null in a request. A default fills both.

        Raises InvalidRequest for a cell that cannot be read.
        """
        body: JsonObject = {}
        for target, column in self.columns.items():
            if column not in row:
                continue
            value = row[column]
            if self.is_csv and isinstance(value, str):
                if not value.strip():
                    continue
                value = from_text(target, value)
            put(body, target, value)
        for target, default in self.defaults.items():
            if get(body, target) is None:
                put(body, target, default)
        return body


def get(body: JsonObject, target: str) -> JsonValue:
    name, _, key = target.partition(".")
    value = body.get(name)
    return value.get(key) if key and isinstance(value, dict) else value


def put(body: JsonObject, target: str, value: JsonValue) -> None:
    name, _, key = target.partition(".")
    known = body.get(name)
    if not key:
        body[name] = value
    elif known is None:
        body[name] = {key: value}
    elif isinstance(known, dict):  # a metadata column of another type is for the field to refuse
        body[name] = {**known, key: value}
