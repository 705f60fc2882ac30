"""Detects the encodings and delimiters that spreadsheets write: UTF-16, Windows-1252, semicolons and tabs."""

import csv
from codecs import BOM_UTF16_BE, BOM_UTF16_LE

DELIMITERS = (",", ";", "\t")  # the first wins if several make the same number of columns
NAMES = {"utf-16": "UTF-16", "cp1252": "Windows-1252"}


def encoding_of(raw: bytes) -> str | None:
    """Return the encoding of a file that is not UTF-8; None if it is UTF-8 or nothing fits."""
    if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "utf-16" if decodes(raw, "utf-16") else None
    if decodes(raw, "utf-8") or b"\0" in raw:
        return None
    # Correct non-ASCII letters mean UTF-8 with single errors, which are then reported by row.
    letters = raw.decode("utf-8", "ignore")
    return "cp1252" if letters.isascii() and decodes(raw, "cp1252") else None


def decodes(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def delimiter_of(header: str) -> str:
    """Return the delimiter that splits the header into most columns."""

    def columns(delimiter: str) -> int:
        try:
            return len(next(csv.reader([header], delimiter=delimiter, strict=True), []))
        except csv.Error:
            return 0

    return max(DELIMITERS, key=columns)
