"""Read the file of a month that only the archive has."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

import pyarrow as pa
from cachetools import LRUCache, cached
from django.db import DEFAULT_DB_ALIAS
from pyarrow.parquet import FileMetaData, ParquetFile, read_metadata

from analytics.archive.layout import is_remote
from analytics.archive.models import ArchivedMonth
from analytics.archive.store import file_system, path_from_uri, reading

FOOTER_CACHE_BYTES = 8 << 20  # bytes of remembered footers
MAX_CACHED_OBJECTS = 1_000  # remembered objects of S3


class MonthFile:
    """The row groups of a month's file. If an erasure replaces the file, reading continues in the new one."""

    def __init__(self, month: ArchivedMonth) -> None:
        self.month = month
        self.file, self.footer = self.open()

    @property
    def uri(self) -> str:
        return self.month.uri

    def open(self) -> tuple[pa.NativeFile, FileMetaData]:
        try:
            # An object of S3 is only a name and a size. An open file would keep the disk space of a deleted one.
            file = open_uri(self.uri) if is_remote() else open_input(self.uri)
            with reading(self.uri):
                return file, read_footer(self.uri, file)
        except OSError:
            if not self.is_replaced():
                raise
            return self.open()

    def read(self, number: int, names: Sequence[str]) -> pa.Table:
        """Read columns of a group. A new file has the same rows in the same groups (`copying.rewrite`)."""
        # From S3 neighbouring columns are read together.
        file = ParquetFile(self.file, metadata=self.footer, pre_buffer=is_remote())
        try:
            with reading(self.uri):
                return file.read_row_group(number, columns=names, use_threads=False)  # checks need the other cores
        except OSError:
            if not self.is_replaced():
                raise
            self.file, self.footer = self.open()
            return self.read(number, names)

    def is_replaced(self) -> bool:
        current = ArchivedMonth.objects.using(DEFAULT_DB_ALIAS).filter(pk=self.month.pk).first()
        former = self.month
        self.month = current or self.month
        return self.uri != former.uri


@contextmanager
def open_month(month: ArchivedMonth) -> Iterator[MonthFile]:
    file = MonthFile(month)
    try:
        yield file
    finally:
        if not is_remote():
            file.file.close()


def open_input(uri: str) -> pa.NativeFile:
    return file_system(for_requests=True).open_input_file(path_from_uri(uri))


# The name of a file is never used again, so what is remembered of it stays true.
@cached(LRUCache(maxsize=MAX_CACHED_OBJECTS), lock=Lock())
def open_uri(uri: str) -> pa.NativeFile:
    return open_input(uri)


@cached(
    LRUCache(maxsize=FOOTER_CACHE_BYTES, getsizeof=lambda footer: footer.serialized_size),
    key=lambda uri, _: uri,
    lock=Lock(),
)
def read_footer(uri: str, file: pa.NativeFile) -> FileMetaData:
    return read_metadata(file)
