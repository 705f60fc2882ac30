"""Reads the lines of a log, plain or gzipped, with their numbers and the id that each one's decision gets."""

import gzip
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from hashlib import blake2b
from io import BufferedReader
from typing import BinaryIO, cast

from kit.http.errors import InvalidRequest
from kit.values.unreadable import read_error

MAX_LINE = 64 * 1024  # bytes
GZIP_MAGIC = b"\x1f\x8b"
REMEMBERED = 200_000  # lines among which equal ones are told apart


@contextmanager
def open_log(path: str) -> Iterator[BinaryIO]:
    """Open a log, or the standard input for `-`. Raises InvalidRequest if it cannot be read."""
    try:
        if path == "-":
            yield unpacked(cast("BufferedReader", sys.stdin.buffer))
            return
        with open(path, "rb") as file:
            yield unpacked(file)
    except OSError as error:
        raise InvalidRequest(read_error(path, error)) from None


def unpacked(file: BufferedReader) -> BinaryIO:
    """Return the file, decompressed if it is gzipped."""
    return cast("BinaryIO", gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == GZIP_MAGIC else file)


def read_lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yield number and content of each line; None for one with more than MAX_LINE bytes.

    Raises InvalidRequest if the file is gzipped and incomplete.
    """
    number = 0
    try:
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE and not line.endswith(b"\n"):
                while (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                    pass
                yield number, None
            elif stripped := line.rstrip(b"\r\n"):
                yield number, stripped
    except (EOFError, gzip.BadGzipFile) as error:
        raise InvalidRequest(f"The gzipped file is damaged after line {number:,}: {error}.") from None


class Occurrences:
    """Distinguish equal lines: the second occurrence of a line gets a different digest from the first.

    The same lines in another file get the same digests, so a file that is imported again, or a rotated file that
    overlaps another, adds nothing twice.
    """

    def __init__(self, site_key: bytes) -> None:
        self.site_key = site_key
        self.current: dict[bytes, int] = {}
        self.previous: dict[bytes, int] = {}

    def digest(self, line: bytes) -> bytes:
        digest = blake2b(line, digest_size=16, key=self.site_key).digest()
        number = self.current.get(digest, 0) or self.previous.get(digest, 0)
        if len(self.current) >= REMEMBERED:
            self.previous, self.current = self.current, {}
        self.current[digest] = number + 1
        return digest if not number else blake2b(digest + number.to_bytes(8), digest_size=16).digest()


def decision_key(moment: datetime, digest: bytes) -> bytes:
    """Return the 16 bytes of a decision's id: a UUIDv7 of the request's time whose random part is the digest."""
    milliseconds = int(moment.timestamp()) * 1_000 + moment.microsecond // 1_000
    drawn = int.from_bytes(digest[:10])
    low = drawn & ((1 << 62) - 1)
    return ((milliseconds << 80) | (0x7 << 76) | (((drawn >> 62) & 0xFFF) << 64) | (0b10 << 62) | low).to_bytes(16)
