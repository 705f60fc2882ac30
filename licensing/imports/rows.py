"""The rows of CSV and JSON Lines files, plain or gzipped, each with the line on which it begins.

Nothing here knows what the rows are for. Files are read as streams: there is never more than one row in
memory, and a row has a bound. What is wrong with a row comes with it; with the file, it is an InvalidRequest.
"""

import csv
import gzip
import json
import shutil
import sys
import tempfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import SEEK_END
from itertools import chain, islice
from typing import BinaryIO, NamedTuple, Protocol, cast

from kit.http.errors import InvalidRequest
from kit.http.parsing import DECODER
from kit.values.json_values import JsonObject
from licensing.imports.spreadsheets import delimiter_of

FORMATS = ("csv", "jsonl")
SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
MAX_ROW_BYTES = 1024 * 1024  # what a body of the API may have
MAX_ROWS = 10_000_000
# A gzipped file may be a hundred times as large inside, which text is at most unless it repeats itself on purpose.
MAX_RATIO = 100
LEAST_UNPACKED = 16 * 1024 * 1024  # bytes that any file may have inside
BLANK = b" \t\r\n\v\f"
GZIP_MAGIC = b"\x1f\x8b"
NOT_UTF8 = "Is not UTF-8."


class ImportRow(NamedTuple):
    """A row by column names: text from CSV, JSON values from JSON Lines.

    A bad one has a problem instead, and its cells as they stand where those could be told apart.
    """

    line: int
    values: JsonObject
    problem: str | None = None
    cells: tuple[str, ...] = ()


class RowTooLongError(Exception):
    """The row has more than MAX_ROW_BYTES."""


class Readable(Protocol):
    """A buffered file, or what bounds one."""

    def seek(self, position: int, /) -> int: ...
    def readline(self, size: int, /) -> bytes: ...
    def read(self, size: int, /) -> bytes: ...
    def peek(self, size: int, /) -> bytes: ...


@contextmanager
def readable() -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidRequest(f"The file cannot be read: {error}.") from None


class Bounded:
    """Of a file no more than `most` bytes; `excess` says what is wrong with one that has more."""

    def __init__(self, file: Readable, most: int, excess: str) -> None:
        self.file, self.most, self.excess = file, most, excess
        self.room = most

    def seek(self, position: int, /) -> int:
        self.room = self.most
        return self.file.seek(position)

    def readline(self, size: int, /) -> bytes:
        return self.counted(self.file.readline(size))

    def read(self, size: int, /) -> bytes:
        return self.counted(self.file.read(size))

    def peek(self, size: int, /) -> bytes:
        return self.file.peek(size)

    def counted(self, raw: bytes) -> bytes:
        self.room -= len(raw)
        if self.room < 0:
            raise InvalidRequest(self.excess)
        return raw


class Lines:
    """The lines of a file, counted. A byte that is not UTF-8 becomes a lone surrogate, which `is_utf8` finds;
    what follows it is still read."""

    def __init__(self, file: Readable) -> None:
        self.file = file
        self.number = 0
        self.room = MAX_ROW_BYTES

    def begin_row(self) -> int:
        """The number of the next line, where a new row begins."""
        self.room = MAX_ROW_BYTES
        return self.number + 1

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        raw = self.read(self.room + 1)
        if not raw:
            raise StopIteration
        self.number += 1
        self.room -= len(raw)
        if self.room < 0:
            while raw and not raw.endswith(b"\n"):
                raw = self.read(MAX_ROW_BYTES)
            raise RowTooLongError(f"Is longer than {MAX_ROW_BYTES:,} bytes.")
        if self.number == 1:
            raw = raw.removeprefix(BOM_UTF8)
        return raw.decode("utf-8", "surrogateescape")

    def read(self, size: int) -> bytes:
        with readable():
            return self.file.readline(size)

    def skip_blank(self) -> None:
        """Passes over the blank lines that come next, many at a time. Call it where a row has ended."""
        with readable():
            while ahead := self.file.peek(1):
                blank = ahead[: len(ahead) - len(ahead.lstrip(BLANK))]
                lines = blank.count(b"\n")
                if not lines:
                    return
                self.number += lines
                self.file.read(blank.rindex(b"\n") + 1)


def is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def reader_of(lines: Lines) -> tuple[list[str], Iterator[list[str]]]:
    """The column names, and what reads the rows behind them.

    Strict: where a row with a stray quote ends, nobody knows. After an error the next line begins a row.
    """
    try:
        first = next((line for line in lines if line.strip()), "")
    except RowTooLongError as error:
        raise InvalidRequest(f"Line {lines.number}, the header, is not CSV: {error}") from None
    delimiter = delimiter_of(first)
    reader = csv.reader(chain([first] if first else [], lines), delimiter=delimiter, strict=True)
    return read_header(lines, reader), reader


def read_header(lines: Lines, reader: Iterator[list[str]]) -> list[str]:
    """The column names, trimmed: those of the first row that is not blank."""
    try:
        header = next((cells for cells in reader if any(map(str.strip, cells))), None)
    except (csv.Error, RowTooLongError) as error:
        raise InvalidRequest(f"Line {lines.number}, the header, is not CSV: {error}.") from None
    if header is None:
        raise InvalidRequest("The file is empty: it has no header.")
    if not is_utf8("".join(header)):
        raise InvalidRequest("The file is not UTF-8.")
    return [name.strip() for name in header]


def csv_rows(lines: Lines) -> Iterator[ImportRow]:
    header, reader = reader_of(lines)
    while True:
        begin = lines.begin_row()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            until = f", read up to line {lines.number}" if lines.number > begin else ""
            yield ImportRow(begin, {}, f"Is not CSV{until}: {error}.")
            continue
        except RowTooLongError as error:
            yield ImportRow(begin, {}, str(error))
            continue
        if not any(map(str.strip, cells)):
            lines.skip_blank()
            continue  # spreadsheets leave such rows behind
        if len(cells) != len(header):
            problem = f"Has {len(cells)} cells where the header has {len(header)}."
            yield ImportRow(begin, {}, problem, tuple(cells))
        elif not is_utf8("".join(cells)):
            yield ImportRow(begin, {}, NOT_UTF8)
        else:
            yield ImportRow(begin, dict(zip(header, cells, strict=True)))


def parse_line(text: str) -> JsonObject:
    """The object on a line of JSON Lines, as strictly read as a body. Raises ValueError."""
    if not is_utf8(text):
        raise ValueError(NOT_UTF8)
    try:
        value = DECODER.decode(text.rstrip())
    except json.JSONDecodeError as error:
        raise ValueError(f"Is not JSON: {error.msg} (column {error.colno}).") from None
    except RecursionError:
        raise ValueError("Is nested too deeply.") from None
    except InvalidRequest as error:
        where = f"{error.param}: " if error.param else ""
        raise ValueError(where + error.message.replace("The body", "The row")) from None
    if not isinstance(value, dict):
        raise ValueError("Is not a JSON object.")  # noqa: TRY004 - of the input, as above
    return value


def json_rows(lines: Lines) -> Iterator[ImportRow]:
    while True:
        begin = lines.begin_row()
        try:
            text = next(lines)
            row = None
            if text.strip():
                row = ImportRow(begin, parse_line(text))
            else:
                lines.skip_blank()
        except StopIteration:
            return
        except (RowTooLongError, ValueError) as error:
            row = ImportRow(begin, {}, str(error))
        if row is not None:
            yield row


class RowFile:
    """A file that can be read from its beginning as often as needed."""

    most_rows = MAX_ROWS
    larger = "Split it."  # what to do with a file that has more

    def __init__(self, file: Readable, format: str) -> None:  # noqa: A002 - the option's name
        self.file, self.kind = file, format
        self.is_csv = format == "csv"

    def lines(self) -> Lines:
        self.file.seek(0)
        return Lines(self.file)

    def header(self) -> list[str]:
        """The columns of a CSV file; JSON Lines tells its own row by row."""
        lines = self.lines()
        return reader_of(lines)[0] if self.is_csv else []

    def rows(self) -> Iterator[ImportRow]:
        rows = csv_rows(self.lines()) if self.is_csv else json_rows(self.lines())
        yield from islice(rows, self.most_rows)
        if next(rows, None) is not None:
            raise InvalidRequest(f"The file has more than {self.most_rows:,} rows. {self.larger}")


def format_of(name: str) -> str:
    stem = name.lower().removesuffix(".gz")
    for suffix, kind in SUFFIXES.items():
        if stem.endswith(suffix):
            return kind
    raise InvalidRequest("The file's name does not tell what it holds. Say --format csv or --format jsonl.")


@contextmanager
def open_rows(name: str, format: str | None = None) -> Iterator[RowFile]:  # noqa: A002 - the option's name
    """Opens a file, or with `-` the standard input. Whether it is gzipped shows in its first bytes."""
    kind = format or format_of(name)
    with ExitStack() as stack:
        try:
            file: BinaryIO = sys.stdin.buffer if name == "-" else stack.enter_context(open(name, "rb"))
            if not file.seekable():  # a pipe is read once only, a file twice
                spool = cast(BinaryIO, stack.enter_context(tempfile.TemporaryFile()))
                shutil.copyfileobj(file, spool)
                file = spool
            size = file.seek(0, SEEK_END)
            file.seek(0)
            magic = file.read(len(GZIP_MAGIC))
            file.seek(0)
        except OSError as error:
            raise InvalidRequest(f"{name} cannot be read: {error.strerror or error}.") from None
        if magic == GZIP_MAGIC:
            most = max(MAX_RATIO * size, LEAST_UNPACKED)
            excess = f"The file has more than {most >> 20} MiB inside, {MAX_RATIO} times its size."
            yield RowFile(Bounded(stack.enter_context(gzip.GzipFile(fileobj=file)), most, excess), kind)
        else:
            yield RowFile(cast(Readable, file), kind)
