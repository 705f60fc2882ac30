"""Lists and reports as CSV or JSON Lines, streamed in constant memory.

Rows come in chunks. Each chunk has its own query that starts after the last row, so a slow client does not keep a
transaction open.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from time import process_time, sleep, thread_time
from typing import TypeVar

import orjson
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, Field, Serializer

from kit import statement_timeout
from kit.http.errors import InvalidRequest
from kit.http.rendering import render_json
from kit.storage.replica import Reading
from kit.values.json_values import Rendered
from kit.values.suggestions import did_you_mean

Row = Rendered
M = TypeVar("M")
CSV, JSONL = "text/csv", "application/jsonl"
FORMATS = {"json": "application/json", "csv": CSV, "jsonl": JSONL}
ACCEPTED = {**{media: name for name, media in FORMATS.items()}, "application/x-ndjson": "jsonl"}
CHUNK = 500  # rows, about 20 ms of CPU time
BUSY = 20  # an export pauses when other threads use more than this fraction of the CPU time that it uses


def wanted_format(query: Mapping[str, str], accept: str) -> str:
    """Return json, csv or jsonl: the `format` parameter, or the first supported type in `Accept`."""
    if "format" in query:
        name = query["format"]
        if name not in FORMATS:
            choices = f"{', '.join(FORMATS)}.{did_you_mean(name, FORMATS)}"
            raise InvalidRequest(f"format must be one of: {choices}", param="format")
        return name
    for part in accept.split(","):
        media, _, parameters = part.partition(";")
        if media.strip().lower() in ACCEPTED and not re.search(r"\bq=0(\.0*)?\s*$", parameters):
            return ACCEPTED[media.strip().lower()]
    return "json"


def wants_bom(query: Mapping[str, str], form: str) -> bool:
    """Return whether the parameter `bom` asks for a byte order mark. Raises InvalidRequest."""
    value = query.get("bom", "false")
    if value not in ("true", "false"):
        raise InvalidRequest("bom must be true or false.", param="bom")
    if value == "true" and form != "csv":
        raise InvalidRequest("bom is for CSV files. Add format=csv, or leave out bom.", param="bom")
    return value == "true"


def export(
    request: Request,
    form: str,
    name: str,
    columns: list[str],
    chunks: Iterable[Sequence[Row]],
    reading: Reading,
    *,
    has_head: bool = True,
    has_bom: bool = False,
) -> StreamingHttpResponse:
    """Stream the rows as a file called `name`; `form` is csv or jsonl, `columns` are those of the CSV.

    `has_bom` begins the CSV with a byte order mark, by which Excel recognises UTF-8.

    `chunks` are read through `reading`; the first before anything is sent, so that errors up to then become ordinary
    replies. `has_head=False` omits the CSV header, to continue an interrupted download.
    """
    head = (BOM if has_bom else b"") + csv_bytes([columns]) if form == "csv" and has_head else b""
    encode: Callable[[Sequence[Row]], bytes] = (lambda rows: csv_lines(rows, columns)) if form == "csv" else json_lines
    content = iter(()) if request.method == "HEAD" else map(encode, while_wanted(iter(chunks)))
    first = head + next(content, b"")
    media = f"{FORMATS[form]}; charset=utf-8"
    response = StreamingHttpResponse(chain([first], content), content_type=media, headers=reading.headers)
    response["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    response["Vary"] = "Accept"
    return response


def chunks_after(
    last: M | None,
    reading: Reading,
    following: Callable[[M | None], list[M]],
    show: Callable[[list[M]], Sequence[Row]],
) -> Iterator[Sequence[Row]]:
    """Yield chunks of shown rows; `following` returns the rows after the given one, or from the beginning."""

    def chunk() -> tuple[list[M], Sequence[Row]]:
        rows = following(last)
        return rows, show(rows)

    while True:
        rows, shown = reading.read(chunk)
        if not rows:
            return
        yield shown
        last = rows[-1]


def while_wanted(chunks: Iterator[Sequence[Row]]) -> Iterator[Sequence[Row]]:
    """Yield chunks while the client is connected. Leaves the interpreter to access checks, if there are any."""
    own, every = thread_time(), process_time()
    for rows in chunks:
        if statement_timeout.is_for_nobody():
            return
        yield rows
        spent, since = thread_time() - own, process_time() - every
        own, every = own + spent, every + since
        sleep(pause(spent, since - spent))


def pause(spent: float, others: float) -> float:
    """Return the seconds to sleep after a chunk that took `spent` seconds of CPU time, while other threads took
    `others`: up to as long as the chunk took.

    An idle process does not pause: sending a chunk takes other threads about a sixtieth of the time.
    """
    return min(spent, max(0, BUSY * others - spent))


def json_lines(rows: Sequence[Row]) -> bytes:
    return b"".join(render_json(row) + b"\n" for row in rows)


# --- CSV -------------------------------------------------------------------------------------------------------------

BOM = b"\xef\xbb\xbf"
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?").fullmatch
FORMULA = tuple("=+-@＝＋－＠")
# A spreadsheet that separates by `;` or tabs reads these within a quoted text, too.
FORMULA_INSIDE = re.compile(rf"([;\t\r\n](?:[^\S\t\r\n]|\")*)(?=[{re.escape(''.join(FORMULA))}])")
BARE = ("true", "false")
HAS_SEPARATOR = re.compile(r"[;\t\r\n]").search
Part = tuple[str, list[str]]  # a field, and its members that are columns; none: the field is one


def csv_lines(rows: Sequence[Row], columns: list[str]) -> bytes:
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


def cells_of(rows: Sequence[Row], part: Part) -> Iterator[list[str]]:
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


def objects_of(values: Sequence[object]) -> list[Row]:
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


def fields_of(serializer: type[BaseSerializer]) -> Iterable[tuple[str, Field]]:
    made = serializer()
    if not isinstance(made, Serializer):
        raise TypeError(f"{serializer.__name__} has no fields.")
    return made.fields.items()


def columns_of(serializer: type[BaseSerializer], *, without: frozenset[str] = frozenset({"object"})) -> list[str]:
    """Return the serializer's fields as columns, nested objects as `object.field`.

    Its `unlisted` names fields that only a single resource shows; they have no column.
    """
    columns = []
    unlisted: frozenset[str] = getattr(serializer, "unlisted", frozenset())
    for name, field in fields_of(serializer):
        if name in without | unlisted:
            continue
        nested = getattr(field, "fields", None)
        columns += [f"{name}.{inner}" for inner in nested] if nested else [name]
    return columns


# --- Reports ---------------------------------------------------------------------------------------------------------


def rows_of_report(report: Mapping[str, object]) -> list[Row]:
    """Return a row for each list member and each object of a report; the column `list` names its origin."""
    rows: list[Row] = []
    for name, part in report.items():
        if isinstance(part, list):
            rows += [{"list": name, **member} for member in part]
        elif isinstance(part, dict) and name == "summary":
            rows.append({"list": name, **part})
        elif isinstance(part, dict):  # the object byLicenseType
            rows += [{"list": name, "id": key, "revenue": value} for key, value in part.items()]
    return rows


def columns_of_report(serializer: type[BaseSerializer]) -> list[str]:
    """Return all columns that rows of the report may have."""
    columns = ["list"]
    for _, part in fields_of(serializer):
        members = getattr(getattr(part, "child", part), "fields", {})
        columns += [name for name in members if name not in columns]
    return columns


def report_response(
    request: Request, name: str, serializer: type[BaseSerializer], make: Callable[[], Mapping[str, object]]
) -> HttpResponseBase:
    """Return the report in the requested format."""
    form = wanted_format(request.query_params, request.headers.get("Accept", ""))
    if form == "json":
        return json_report(make)
    reading = Reading()
    chunks = [rows_of_report(reading.read(make))]
    return export(request, form, name, columns_of_report(serializer), chunks, reading)


def json_report(make: Callable[[], object]) -> Response:
    """Return what `make` reads, from the replica if there is one."""
    reading = Reading()
    return Response(reading.read(make), headers=reading.headers)
