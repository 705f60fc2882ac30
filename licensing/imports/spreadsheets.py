"""Detects the encodings and delimiters that spreadsheets write: UTF-16, Windows-1252, semicolons and tabs."""

import csv
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from typing import Protocol

DELIMITERS = (",", ";", "\t")  # the first wins if several make the same number of columns
CHUNK = 64 * 1024  # bytes
NAMES = {"utf-16": "UTF-16", "cp1252": "Windows-1252"}


class Readable(Protocol):
    def seek(self, position: int, /) -> int: ...
    def read(self, size: int, /) -> bytes: ...


class FirstLook:
    """The result of a first pass over a file: its encoding (None for UTF-8), and whether it has line feeds."""

    def __init__(self) -> None:
        self.encoding: str | None = None
        self.has_line_feeds = self.has_returns = False

    @property
    def needs_rewriting(self) -> bool:
        return self.encoding is not None or (self.has_returns and not self.has_line_feeds)

    def read(self, file: Readable) -> None:
        """Read the file once."""
        file.seek(0)
        raw = file.read(CHUNK)
        is_utf16 = raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
        # Correct non-ASCII letters mean UTF-8 with single errors, which are then reported by row.
        tests = {name: Decodes(name) for name in (("utf-16",) if is_utf16 else ("utf-8", "cp1252"))}
        letters = getincrementaldecoder("utf-8-sig")("ignore")
        has_letters = has_nulls = False
        while raw:
            self.has_line_feeds |= b"\n" in raw
            self.has_returns |= b"\r" in raw
            has_nulls |= b"\0" in raw
            has_letters |= not letters.decode(raw).isascii()
            for test in tests.values():
                test.read(raw)
            raw = file.read(CHUNK)
        for test in tests.values():
            test.read(b"")
        if is_utf16:
            self.encoding = "utf-16" if tests["utf-16"].succeeds else None
        elif not (tests["utf-8"].succeeds or has_nulls or has_letters) and tests["cp1252"].succeeds:
            self.encoding = "cp1252"


class Decodes:
    """Whether bytes that come in parts are text in an encoding."""

    def __init__(self, encoding: str) -> None:
        self.decoder = getincrementaldecoder(encoding)()
        self.succeeds = True

    def read(self, raw: bytes) -> None:
        """Decode the next part, empty at the end."""
        if self.succeeds:
            try:
                self.decoder.decode(raw, not raw)
            except UnicodeDecodeError:
                self.succeeds = False


def detect_delimiter(header: str) -> str:
    """Return the delimiter that splits the header into most columns."""

    def columns(delimiter: str) -> int:
        try:
            return len(next(csv.reader([header], delimiter=delimiter, strict=True), []))
        except csv.Error:
            return 0

    return max(DELIMITERS, key=columns)
