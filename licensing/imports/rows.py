"""Reads rows of CSV and JSON Lines files, with their line numbers.

Files are streamed: only one row of bounded size is in memory. Problems of the file raise InvalidRequest.
"""

import csv
import json
import re
import zlib
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple, Protocol

from kit.http.errors import InvalidRequest
from kit.http.parsing import DECODER, message_for
from kit.values.json_values import JsonObject
from licensing.imports.spreadsheets import detect_delimiter

MAX_ROW_BYTES = 1024 * 1024  # same as for an API body
BLANK = b" \t\r\n\v\f"
match_separator_hint = re.compile(r"sep=([^\w\s\"']|\t)\s*", re.IGNORECASE).fullmatch  # Excel's hint before the header
NOT_UTF8 = "Is not UTF-8."
CHUNK = 64 * 1024  # bytes
match_array_start = re.compile(r"\s*+\[\s*+").match
match_between_elements = re.compile(r"[\s,]*+").match  # the elements of an array


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
def reject_unreadable() -> Iterator[None]:
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
        with reject_unreadable():
            return self.file.readline(size)

    def begins_with(self, text: bytes) -> bool:
        """Whether the file begins with this text. Call it before the first line."""
        with reject_unreadable():
            return self.file.peek(CHUNK)[:CHUNK].removeprefix(BOM_UTF8).lstrip(BLANK).startswith(text)

    def read_raw(self, size: int) -> bytes:
        """Return the next bytes, regardless of lines."""
        if not size:
            return b""
        with reject_unreadable():
            return self.file.read(size)

    def has_more(self, text: str) -> bool:
        """Whether anything but blanks is in the text and in the rest of the file."""
        is_blank = not text.strip()
        while is_blank and (raw := self.read_raw(CHUNK)):
            is_blank = not raw.strip()
        return not is_blank

    def skip_blank(self) -> None:
        """Skip the following blank lines; call it between rows."""
        with reject_unreadable():
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


def open_reader(lines: Lines) -> tuple[list[str], Iterator[list[str]]]:
    """Return the column names and a reader for the rows after the header.

    Strict CSV: a stray quote makes the end of a row ambiguous, so that reading resumes at the next line.
    """
    try:
        first = next((line for line in lines if line.strip()), "")
        if (separator := match_separator_hint(first)) is not None:
            first = next(lines, "")
    except RowTooLongError as error:
        raise InvalidRequest(f"Line {lines.number}, the header, is not CSV: {error}") from None
    delimiter = detect_delimiter(first) if separator is None else separator[1]
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
    header, reader = open_reader(lines)
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
        raise ValueError(where + message_for("The row", error)) from None
    if not isinstance(value, dict):
        raise ValueError("Is not a JSON object.")  # noqa: TRY004 - of the input, as above
    return value


def json_rows(lines: Lines) -> Iterator[ImportRow]:
    """Yield the objects of JSON Lines, or of a file that is a JSON array as a whole."""
    if lines.begins_with(b"["):
        yield from array_rows(lines)
        return
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


def array_rows(lines: Lines) -> Iterator[ImportRow]:
    """Yield the objects of a JSON array. At the first syntax error, yield a problem and stop."""
    decoder, decode = getincrementaldecoder("utf-8-sig")("surrogateescape"), json.JSONDecoder().raw_decode
    text, at, line, step, skip = "", 0, 1, CHUNK, match_array_start
    while True:
        begin = skipped.end() if (skipped := skip(text, at)) is not None else at
        if begin < len(text):
            line += text.count("\n", at, begin)
            at, skip = begin, match_between_elements
            if text[at] == "]":
                if lines.has_more(text[at + 1 :]):
                    yield ImportRow(line, {}, "Is not JSON: there is more behind the array.")
                return
        problem, end, is_whole = "Is not JSON: the array has no end.", len(text), False
        try:
            _, end = decode(text, at)
            is_whole = True
        except json.JSONDecodeError as error:
            problem = f"Is not JSON: {error.msg}."
        except RecursionError:
            problem, step = "Is nested too deeply.", 0
        if end < len(text):
            yield array_row(text[at:end], line)
            line += text.count("\n", at, end)
            at, step = end, CHUNK
            continue
        raw = b"" if len(text) - at > MAX_ROW_BYTES else lines.read_raw(step)
        if not raw:
            if is_whole:
                yield array_row(text[at:end], line)
            yield ImportRow(line, {}, problem)
            return
        text, at, step = text[at:] + decoder.decode(raw), 0, 2 * step


def array_row(text: str, line: int) -> ImportRow:
    try:
        return ImportRow(line, parse_line(text))
    except ValueError as error:
        return ImportRow(line, {}, str(error))
