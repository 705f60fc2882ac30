"""The European Central Bank's file of all euro reference rates: a row per day, a column per currency.

Plain CSV, gzipped or zipped (as the bank publishes it), recognised by its first bytes.
"""

import csv
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

from kit.http.errors import InvalidRequest
from kit.values.timestamps import parse_date
from kit.values.unreadable import read_error

MAX_BYTES = 200 * 1024 * 1024  # unpacked; fifty times the size of 27 years
match_code = re.compile(r"[A-Z]{3}").fullmatch
match_rate = re.compile(r"(?=.{1,30}$)[0-9]+(\.[0-9]+)?").fullmatch
NO_RATE = ("N/A", "")


class Rate(NamedTuple):
    """Units of a currency per euro on a day: the decimal as published."""

    currency: str
    day: date
    rate: str


def read_text(path: str) -> str:
    """Return the unpacked text of the file. Raises InvalidRequest if it is not CSV, gzip or zip."""
    try:
        raw = Path(path).read_bytes()
        if raw.startswith(b"\x1f\x8b"):
            with gzip.open(io.BytesIO(raw)) as file:
                raw = file.read(MAX_BYTES + 1)
        elif raw.startswith(b"PK\x03\x04"):
            raw = unzip(raw)
        if len(raw) > MAX_BYTES:
            raise InvalidRequest(f"{path} is larger than {MAX_BYTES >> 20} MiB.")
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise InvalidRequest(read_error(path, error)) from None
    except (EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise InvalidRequest(f"{path} cannot be unpacked: {error}.") from None
    except UnicodeDecodeError:
        raise InvalidRequest(f"{path} is not text in UTF-8.") from None


def unzip(raw: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = [name for name in archive.namelist() if name.lower().endswith(".csv")]
        if len(members) != 1:
            raise InvalidRequest(f"The archive has {len(members)} CSV files where one is due.")
        with archive.open(members[0]) as file:
            return file.read(MAX_BYTES + 1)


def parse_rates(text: str) -> Iterator[Rate]:
    """Yield every rate in the file. Raises InvalidRequest, naming line and column."""
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        header = [name.strip() for name in next(reader, [])]
        columns = currency_columns(header)
        days: set[date] = set()
        for row in reader:
            if row:
                yield from parse_row(row, reader.line_num, columns, len(header), days)
    except csv.Error as error:
        raise InvalidRequest(f"line {reader.line_num}: {error}.") from None
    if not days:
        raise InvalidRequest("The file has no day.")


def currency_columns(header: list[str]) -> list[tuple[int, str]]:
    """Return each column's index and currency.

    Lines of the bank's file end with a comma, so the last column has no name.
    """
    if header[:1] != ["Date"]:
        raise InvalidRequest("line 1: The first column must be called Date: is this the bank's historical file?")
    columns = [(index, code) for index, code in enumerate(header) if index and (code or index < len(header) - 1)]
    seen: set[str] = set()
    for _, code in columns:
        fault = ""
        if code == "EUR":
            fault = "has no place here"
        elif code in seen:
            fault = "is there twice"
        elif not match_code(code):
            fault = "is no currency's three letters"
        if fault:
            raise InvalidRequest(f"line 1: The column {code[:20]!r} {fault}.")
        seen.add(code)
    return columns


def parse_row(
    row: list[str], line: int, columns: list[tuple[int, str]], width: int, days: set[date]
) -> Iterator[Rate]:
    if len(row) != width:
        raise InvalidRequest(f"line {line}: There are {len(row)} cells where the header has {width}.")
    try:
        day = parse_date(row[0].strip())
    except ValueError as error:
        raise InvalidRequest(f"line {line}, column Date: {error}") from None
    if day in days:
        raise InvalidRequest(f"line {line}, column Date: {day} is there twice.")
    days.add(day)
    for index, code in columns:
        text = row[index].strip()
        if text in NO_RATE:
            continue
        if not match_rate(text) or not text.strip("0."):
            raise InvalidRequest(f"line {line}, column {code}: {text[:40]!r} is no rate.")
        yield Rate(code, day, text)
