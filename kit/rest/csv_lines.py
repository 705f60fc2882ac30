"""CSV (RFC 4180) that spreadsheets read as it is meant, without running a cell as a formula."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import orjson

from kit.http.rendering import render_json
from kit.values.json_values import Rendered

BOM = b"\xef\xbb\xbf"
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?").fullmatch
FORMULA = tuple("=+-@＝＋－＠")
# A spreadsheet that separates by `;` or tabs reads these within a quoted text, too.
FORMULA_INSIDE = re.compile(rf"([;\t\r\n](?:[^\S\t\r\n]|\")*)(?=[{re.escape(''.join(FORMULA))}])")
BARE = ("true", "false")
HAS_SEPARATOR = re.compile(r"[;\t\r\n]").search
Part = tuple[str, list[str]]  # a field, and its members that are columns; none: the field is one


def csv_lines(rows: Sequence[Rendered], columns: list[str]) -> bytes:
    """Encode rows as CSV (RFC 4180). A dotted column names a member of an object."""
    return csv_bytes(zip(*(cells for part in parts_of(columns) for cells in cells_of(rows, part)), strict=True))


def csv_bytes(rows: Iterable[Iterable[str]]) -> bytes:
    """Encode cells as CSV. All texts are quoted, so that no other separator begins a cell in one."""
    return "".join(f"{line_of(row)}\r\n" for row in rows).encode(errors="replace")  # lone surrogates


def line_of(row: Iterable[str]) -> str:
    return ",".join(map(quoted, row)) or '""'  # a single empty cell, since readers skip empty lines


def quoted(text: str) -> str:
    if not text or text in BARE or NUMBER(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def parts_of(columns: list[str]) -> list[Part]:
    """Return the fields of columns in order."""
    grouped = groupby((column.partition(".") for column in columns), key=lambda parts: parts[:2])
    return [(name, [member for *_, member in group] if dot else []) for (name, dot), group in grouped]


def cells_of(rows: Sequence[Rendered], part: Part) -> Iterator[list[str]]:
    """Yield the cells of each column of a field. Most columns of a chunk have few values."""
    name, members = part
    values = [row.get(name) for row in rows]
    if values.count(None) == len(values):
        yield from [[""] * len(values)] * (len(members) or 1)
    elif not members:
        yield [cell(value) for value in values]
    else:
        objects = objects_of(values)
        for member in members:
            yield [cell(one.get(member)) for one in objects]


def objects_of(values: Sequence[object]) -> list[Rendered]:
    """Return the objects among the values; others become empty. Rows share JSON that is rendered already."""
    rendered = {id(value): value for value in values if isinstance(value, orjson.Fragment)}
    read = {key: orjson.loads(orjson.dumps(value)) for key, value in rendered.items()}
    return [value if isinstance(value, dict) else read.get(id(value), {}) for value in values]


def cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value if value[:1].isalnum() and not HAS_SEPARATOR(value) else harmless(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return harmless_inside(render_json(value).decode())


def harmless_inside(text: str) -> str:
    return FORMULA_INSIDE.sub(r"\1'", text)


def harmless(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula. Numbers stay unchanged.

    That is a text that begins like one, and what begins like one after a separator within the text.
    """
    text = harmless_inside(text)
    if (text.lstrip().startswith(FORMULA) or text.startswith(("\t", "\r", "\n"))) and not NUMBER(text):
        return f"'{text}"
    return text
