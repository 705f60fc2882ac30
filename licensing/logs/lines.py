"""Reads the lines of a log, plain or compressed, with their numbers and the id that each one's decision gets."""

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from hashlib import blake2b
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, BinaryIO, cast

from kit.http.errors import InvalidRequest
from kit.values.unreadable import read_error
from licensing.imports.rows import BoundedReader, Readable

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_LINE = 64 * 1024  # bytes
MAX_MAGIC = 6  # bytes
ZSTD_STEP = 1_024  # bytes that are decompressed at once: they may become 32 MiB
NO_ZSTD = "This Python cannot read zstd. Install requirements-archive.txt, or pipe the output of `zstd -dc` to it."
MAX_REMEMBERED_LINES = 200_000  # lines among which equal ones are told apart


@contextmanager
def open_log(path: str, max_bytes: int | None = None) -> Iterator[BinaryIO]:
    """Open a log, or the standard input for `-`.

    Raises InvalidRequest if it cannot be read, or has more than `max_bytes` bytes when decompressed.
    """
    try:
        with ExitStack() as stack:
            raw = sys.stdin.buffer if path == "-" else stack.enter_context(open(path, "rb"))
            file = decompressed(cast("BufferedReader", raw))
            if max_bytes is not None:
                excess = f"The file has more than {max_bytes >> 20} MiB inside."
                file = cast("BinaryIO", BoundedReader(cast("Readable", file), max_bytes, excess))
            yield file
    except OSError as error:
        raise InvalidRequest(read_error(path, error)) from None


class ZstdFile(RawIOBase):
    """Decompresses zstd. Raises EOFError for an incomplete file, OSError for a damaged one."""

    def __init__(self, file: BufferedReader) -> None:
        try:
            import zstandard  # noqa: PLC0415 - a package that is not always there
        except ImportError:
            raise InvalidRequest(NO_ZSTD) from None
        self.file = file
        self.error = zstandard.ZstdError
        self.new_frame = zstandard.ZstdDecompressor().decompressobj
        self.frame = self.new_frame()
        self.ready = b""
        self.is_within = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        while not self.ready:
            raw = self.frame.unused_data or self.file.read(ZSTD_STEP)
            if not raw:
                if self.is_within:
                    raise EOFError("it ends too early")
                return 0
            if self.frame.eof:
                self.frame = self.new_frame()
            try:
                self.ready = self.frame.decompress(raw)
            except self.error as error:
                raise OSError(str(error)) from None
            self.is_within = not self.frame.eof
        room = memoryview(buffer)
        count = min(len(room), len(self.ready))
        room[:count] = self.ready[:count]
        self.ready = self.ready[count:]
        return count


# How files are compressed, by their first bytes.
DECOMPRESSORS: dict[bytes, Callable[[BufferedReader], object]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": lambda file: BufferedReader(ZstdFile(file), 1 << 16),
}


def decompressed(file: BufferedReader) -> BinaryIO:
    """Return the file, decompressed if it is compressed. Raises InvalidRequest if zstd is not installed."""
    begin = file.peek(MAX_MAGIC)[:MAX_MAGIC]
    decompressed = next(
        (decompress(file) for magic, decompress in DECOMPRESSORS.items() if begin.startswith(magic)), file
    )
    return cast("BinaryIO", decompressed)


def read_lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yield number and content of each line; None for one with more than MAX_LINE bytes.

    Raises InvalidRequest if the file is compressed, and damaged or incomplete.
    """
    number = 0
    try:
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE and not line.endswith(b"\n"):
                while (remainder := file.readline(MAX_LINE)) and not remainder.endswith(b"\n"):
                    pass
                yield number, None
            elif stripped := line.rstrip(b"\r\n"):
                yield number, stripped
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise InvalidRequest(f"The file is damaged after line {number:,}: {error}.") from None


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
        if len(self.current) >= MAX_REMEMBERED_LINES:
            self.previous = self.current
            self.current = {}
        self.current[digest] = number + 1
        if not number:
            return digest
        return blake2b(digest + number.to_bytes(8), digest_size=16).digest()


def decision_key(moment: datetime, digest: bytes) -> bytes:
    """Return the 16 bytes of a decision's id: a UUIDv7 of the request's time whose random part is the digest."""
    milliseconds = int(moment.timestamp()) * 1_000 + moment.microsecond // 1_000
    number = int.from_bytes(digest[:10])
    low = number & ((1 << 62) - 1)
    return ((milliseconds << 80) | (0x7 << 76) | (((number >> 62) & 0xFFF) << 64) | (0b10 << 62) | low).to_bytes(16)
