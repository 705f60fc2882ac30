"""Reads rows of CSV and JSON Lines files, plain or gzipped, with their line numbers.

Files are streamed: only one row of bounded size is in memory. Problems of the file raise InvalidRequest.
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
from kit.http.parsing import DECODER, message_about
from kit.values.json_values import JsonObject
from kit.values.unreadable import read_error
from licensing.imports.spreadsheets import delimiter_of

FORMATS = ("csv", "jsonl")
SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
MAX_ROW_BYTES = 1024 * 1024  # same as for an API body
MAX_ROWS = 10_000_000
# Gzip compresses normal text at most a hundredfold; more suggests a decompression bomb.
MAX_RATIO = 100
LEAST_UNPACKED = 16 * 1024 * 1024  # bytes that any gzipped file may decompress to
BLANK = b" \t\r\n\v\f"
GZIP_MAGIC = b"\x1f\x8b"
NOT_UTF8 = "Is not UTF-8."


class ImportRow(NamedTuple):
    """A row: values by column name, as text from CSV or JSON values from JSON Lines.

    A rejected row has a `problem` instead, and its cells if they could be separated.
    """

    line: int
    values: JsonObject
    problem: str | None = None
    cells: tuple[str, ...] = ()


class RowTooLongError(Exception):
    """The row has more than MAX_ROW_BYTES."""


class Readable(Protocol):
    """A buffered binary file, or a wrapper that limits one."""

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


class BoundedReader:
    """Limits reading to `most` bytes. Raises InvalidRequest with the message `excess` beyond them."""

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
    """The lines of a file, counted. Invalid UTF-8 becomes lone surrogates, which `is_utf8` detects."""

    def __init__(self, file: Readable) -> None:
        self.file = file
        self.number = 0
        self.room = MAX_ROW_BYTES

    def begin_row(self) -> int:
        """Start a new row: reset its size limit and return the number of its first line."""
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
        """Skip the following blank lines; call it between rows."""
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
    """Return the column names and a reader for the rows after the header.

    Strict CSV: a stray quote makes the end of a row ambiguous, so that reading resumes at the next line.
    """
    try:
        first = next((line for line in lines if line.strip()), "")
    except RowTooLongError as error:
        raise InvalidRequest(f"Line {lines.number}, the header, is not CSV: {error}") from None
    delimiter = delimiter_of(first)
    reader = csv.reader(chain([first] if first else [], lines), delimiter=delimiter, strict=True)
    return read_header(lines, reader), reader


def read_header(lines: Lines, reader: Iterator[list[str]]) -> list[str]:
    """Return the trimmed column names from the first row that is not blank."""
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
            continue  # spreadsheets write such rows at the end
        if len(cells) != len(header):
            problem = f"Has {len(cells)} cells where the header has {len(header)}."
            yield ImportRow(begin, {}, problem, tuple(cells))
        elif not is_utf8("".join(cells)):
            yield ImportRow(begin, {}, NOT_UTF8)
        else:
            yield ImportRow(begin, dict(zip(header, cells, strict=True)))


def parse_line(text: str) -> JsonObject:
    """Parse the JSON object on a line, as strictly as a request body. Raises ValueError."""
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
        raise ValueError(where + message_about("The row", error)) from None
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
    """A file whose rows can be read several times."""

    most_rows = MAX_ROWS
    larger = "Split it."  # advice for files with more rows

    def __init__(self, file: Readable, format: str) -> None:  # noqa: A002 - the option's name
        self.file, self.kind = file, format
        self.is_csv = format == "csv"

    def lines(self) -> Lines:
        self.file.seek(0)
        return Lines(self.file)

    def header(self) -> list[str]:
        """Return the columns of a CSV file; empty for JSON Lines."""
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
    """Open a file, or standard input for `-`. Detects gzip by its magic bytes."""
    kind = format or format_of(name)
    with ExitStack() as stack:
        try:
            file: BinaryIO = sys.stdin.buffer if name == "-" else stack.enter_context(open(name, "rb"))
            if not file.seekable():  # a pipe can only be read once, but the file is read twice
                spool = cast(BinaryIO, stack.enter_context(tempfile.TemporaryFile()))
                shutil.copyfileobj(file, spool)
                file = spool
            size = file.seek(0, SEEK_END)
            file.seek(0)
            magic = file.read(len(GZIP_MAGIC))
            file.seek(0)
        except OSError as error:
            raise InvalidRequest(read_error(name, error)) from None
        if magic == GZIP_MAGIC:
            most = max(MAX_RATIO * size, LEAST_UNPACKED)
            excess = f"The file has more than {most >> 20} MiB inside, {MAX_RATIO} times its size."
            yield RowFile(BoundedReader(stack.enter_context(gzip.GzipFile(fileobj=file)), most, excess), kind)
        else:
            yield RowFile(cast(Readable, file), kind)
