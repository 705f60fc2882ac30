"""Lists as files of CSV or JSON Lines, streamed in constant memory.

Rows come in chunks. Each chunk has its own query that starts after the last row, so a slow client does not keep a
transaction open.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from time import process_time, sleep, thread_time
from typing import TypeVar

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, Field, Serializer

from kit import statement_timeout
from kit.http.errors import InvalidRequest
from kit.http.rendering import render_json
from kit.rest.csv_lines import BOM, csv_bytes, csv_lines
from kit.storage.replica import Reading
from kit.values.json_values import Rendered
from kit.values.suggestions import did_you_mean

Row = Rendered
M = TypeVar("M")
CSV, JSONL = "text/csv", "application/jsonl"
FORMATS = {"json": "application/json", "csv": CSV, "jsonl": JSONL}
ACCEPTED = {**{media: name for name, media in FORMATS.items()}, "application/x-ndjson": "jsonl"}
CHUNK = 500  # rows, about 20 ms of CPU time
PAUSE_FACTOR = 20  # an export pauses when other threads use more than a 20th of the CPU time that it uses


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


def wants_bom(query: Mapping[str, str], file_format: str) -> bool:
    """Return whether the parameter `bom` asks for a byte order mark. Raises InvalidRequest."""
    value = query.get("bom", "false")
    if value not in ("true", "false"):
        raise InvalidRequest("bom must be true or false.", param="bom")
    if value == "true" and file_format != "csv":
        raise InvalidRequest("bom is for CSV files. Add format=csv, or leave out bom.", param="bom")
    return value == "true"


def export(
    request: Request,
    file_format: str,
    name: str,
    columns: list[str],
    chunks: Iterable[Sequence[Row]],
    reading: Reading,
    *,
    has_head: bool = True,
    has_bom: bool = False,
) -> StreamingHttpResponse:
    """Stream the rows as a file called `name`; `file_format` is csv or jsonl, `columns` are those of the CSV.

    `has_bom` begins the CSV with a byte order mark, by which Excel recognises UTF-8.

    `chunks` are read through `reading`; the first before anything is sent, so that errors up to then become ordinary
    replies. `has_head=False` omits the CSV header, to continue an interrupted download.
    """
    head = b""
    encode: Callable[[Sequence[Row]], bytes] = json_lines
    if file_format == "csv":
        encode = partial(csv_lines, columns=columns)
        if has_head:
            head = csv_bytes([columns])
        if has_head and has_bom:
            head = BOM + head
    content = iter(()) if request.method == "HEAD" else map(encode, while_wanted(iter(chunks)))
    first = head + next(content, b"")
    media = f"{FORMATS[file_format]}; charset=utf-8"
    response = StreamingHttpResponse(chain([first], content), content_type=media, headers=reading.headers)
    response["Content-Disposition"] = content_disposition_header(True, f"{name}.{file_format}")
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
    return min(spent, max(0, PAUSE_FACTOR * others - spent))


def json_lines(rows: Sequence[Row]) -> bytes:
    return b"".join(render_json(row) + b"\n" for row in rows)


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


def json_report(make: Callable[[], object]) -> Response:
    """Return what `make` reads, from the replica if there is one."""
    reading = Reading()
    return Response(reading.read(make), headers=reading.headers)
