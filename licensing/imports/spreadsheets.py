"""What spreadsheets write in place of UTF-8 and commas: UTF-16, Windows-1252 in Western Europe, semicolons, tabs."""

import csv
from codecs import BOM_UTF16_BE, BOM_UTF16_LE

DELIMITERS = (",", ";", "\t")  # of equals the first
NAMES = {"utf-16": "UTF-16", "cp1252": "Windows-1252"}


def encoding_of(raw: bytes) -> str | None:
    """The encoding of a file that is certainly not UTF-8; None where it is, or where nothing fits."""
    if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "utf-16" if decodes(raw, "utf-16") else None
    if decodes(raw, "utf-8") or b"\0" in raw:
        return None
    # A file of UTF-8 with a slip in it has other letters that are right: then each bad row is told of.
    letters = raw.decode("utf-8", "ignore")
    return "cp1252" if letters.isascii() and decodes(raw, "cp1252") else None


def decodes(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def delimiter_of(header: str) -> str:
    """What separates the cells: of what spreadsheets write (in Europe semicolons) that which makes most columns."""

    def columns(delimiter: str) -> int:
        try:
            return len(next(csv.reader([header], delimiter=delimiter, strict=True), []))
        except csv.Error:
            return 0

    return max(DELIMITERS, key=columns)
