"""Opens files of catalogues: of any name, encoding and line ends that programs write, plain or gzipped."""

import gzip
import shutil
import sys
import tempfile
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import SEEK_END
from itertools import islice
from typing import BinaryIO, cast

from kit.http.errors import InvalidRequest
from kit.values.unreadable import read_error
from licensing.imports.rows import (
    CHUNK,
    BoundedReader,
    ImportRow,
    Lines,
    Readable,
    csv_rows,
    json_rows,
    open_reader,
    reject_unreadable,
)
from licensing.imports.sitemaps import Sitemap
from licensing.imports.spreadsheets import NAMES, FirstLook

FORMATS = ("csv", "jsonl", "sitemap")
SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".xml": "sitemap"}
MAX_ROWS = 10_000_000
# Gzip compresses normal text at most a hundredfold; more suggests a decompression bomb.
MAX_RATIO = 100
MIN_UNPACKED_LIMIT = 16 * 1024 * 1024  # bytes that any gzipped file may decompress to
GZIP_MAGIC = b"\x1f\x8b"


class RowFile:
    """A file whose rows can be read several times. `read_as` names its encoding if that is not UTF-8."""

    most_rows = MAX_ROWS
    larger = "Split it."  # advice for files with more rows

    def __init__(self, file: Readable, format: str, read_as: str | None = None) -> None:  # noqa: A002 - the option's name
        self.file = file
        self.kind = format
        self.read_as = read_as
        self.is_csv = format == "csv"

    @staticmethod
    def bounded(file: Readable) -> Readable:
        """Return the decompressed file with the limits of this class."""
        return file

    def lines(self) -> Lines:
        self.file.seek(0)
        return Lines(self.file)

    def header(self) -> list[str]:
        """Return the columns of a CSV file; empty for other files."""
        lines = self.lines()
        return open_reader(lines)[0] if self.is_csv else []

    def rows(self) -> Iterator[ImportRow]:
        rows = self.all_rows()
        yield from islice(rows, self.most_rows)
        if next(rows, None) is not None:
            raise InvalidRequest(f"The file has more than {self.most_rows:,} rows. {self.larger}")

    def all_rows(self) -> Iterator[ImportRow]:
        if self.kind == "sitemap":
            return self.pages()
        if self.is_csv:
            return csv_rows(self.lines())
        return json_rows(self.lines())

    def pages(self) -> Iterator[ImportRow]:
        self.file.seek(0)
        sitemap = Sitemap()
        raw = b" "
        while raw:
            with reject_unreadable():
                raw = self.file.read(CHUNK)
            for line, values in sitemap.feed(raw):
                yield ImportRow(line, values)


def detect_format(name: str) -> str:
    stem = name.lower().removesuffix(".gz")
    for suffix, kind in SUFFIXES.items():
        if stem.endswith(suffix):
            return kind
    raise InvalidRequest("The file's name does not tell what it holds. Say --format csv, jsonl or sitemap.")


@contextmanager
def open_rows(name: str, format: str | None = None, make: type[RowFile] = RowFile) -> Iterator[RowFile]:  # noqa: A002 - the option's name
    """Open a file, or standard input for `-`. Detects gzip by its magic bytes, and what spreadsheets write."""
    kind = format or detect_format(name)
    with ExitStack() as stack:
        try:
            file: BinaryIO = sys.stdin.buffer if name == "-" else stack.enter_context(open(name, "rb"))
            if not file.seekable():  # a pipe can only be read once, but the file is read twice
                spool = temporary_file(stack)
                shutil.copyfileobj(file, spool)
                file = spool
            size = file.seek(0, SEEK_END)
            file.seek(0)
            magic = file.read(len(GZIP_MAGIC))
            file.seek(0)
        except OSError as error:
            raise InvalidRequest(read_error(name, error)) from None
        content = cast(Readable, file)
        if magic == GZIP_MAGIC:
            max_bytes = max(MAX_RATIO * size, MIN_UNPACKED_LIMIT)
            excess = f"The file has more than {max_bytes >> 20} MiB inside, {MAX_RATIO} times its size."
            content = BoundedReader(stack.enter_context(gzip.GzipFile(fileobj=file)), max_bytes, excess)
        content = make.bounded(content)
        look = FirstLook()
        if kind == "csv":
            with reject_unreadable():
                look.read(content)
        if not look.needs_rewriting:
            yield make(content, kind)
            return
        spool = temporary_file(stack)
        rewrite_as_utf8(content, spool, look)
        yield make(make.bounded(cast(Readable, spool)), kind, NAMES.get(look.encoding or ""))


def temporary_file(stack: ExitStack) -> BinaryIO:
    return cast(BinaryIO, stack.enter_context(tempfile.TemporaryFile()))


def rewrite_as_utf8(content: Readable, spool: BinaryIO, look: FirstLook) -> None:
    """Write the content as UTF-8. Replace carriage returns by line feeds if it has no line feeds."""
    decoder = getincrementaldecoder(look.encoding or "utf-8")("surrogateescape")
    content.seek(0)
    raw = b" "
    while raw:
        with reject_unreadable():
            raw = content.read(CHUNK)
        text = decoder.decode(raw, not raw)
        if not look.has_line_feeds:
            text = text.replace("\r", "\n")
        spool.write(text.encode("utf-8", "surrogateescape"))
    spool.seek(0)
