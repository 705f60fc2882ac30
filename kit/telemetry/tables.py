"""Sizes of the tables that grow with traffic, read when Prometheus scrapes, and whether the database answers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock

from django.db import Error, connection
from django.db.backends.utils import CursorWrapper
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kit.statement_timeout import own_connection
from kit.storage.by_database import by_database

SCRAPE_SECONDS = 1  # how long a scrape waits for the database
# Of a partitioned table: the sum of its partitions. PostgreSQL counts rows without reading them.
SIZES = """
SELECT name, sum(pg_stat_get_live_tuples(relation.oid)), sum(pg_total_relation_size(relation.oid))
FROM unnest(%s::text[]) AS name
JOIN pg_class relation ON relation.oid = to_regclass(name)
  OR relation.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass(name))
GROUP BY name"""
# SQLite has no counter of rows. New rows get the next number and purges delete the oldest, so the span is the number
# of rows, or more where rows in between were deleted. It takes two index look-ups, however long the table is.
SPAN = "coalesce((SELECT max(rowid) FROM {table}) - (SELECT min(rowid) FROM {table}) + 1, 0)"


Sizes = list[tuple[str, int, int | None]]


class TableSizes(Collector):
    """Rows and bytes of tables, on SQLite only rows, and further figures. None while the database does not answer.

    One thread reads them, and concurrent scrapes share a read. A scrape gives up after SCRAPE_SECONDS: a database that
    hangs keeps this thread waiting, but no scrape.
    """

    def __init__(self, tables: Sequence[str], figures: Callable[[], Iterable[Metric]] = tuple) -> None:
        self.tables = tables
        self.figures = figures
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="table-sizes")
        self.lock = Lock()
        self.pending_read: Future[Sizes] | None = None
        self.metrics: list[Metric] = []  # the figures as they were last read

    def collect(self) -> Iterator[Metric]:
        sizes = self.sizes()
        yield GaugeMetricFamily(
            "licensing_database_up", "1 if the database answered this scrape in time, else 0.", value=sizes is not None
        )
        if sizes is None:
            return
        rows = GaugeMetricFamily("licensing_table_rows", "Rows of a table, estimated.", labels=["table"])
        size = GaugeMetricFamily("licensing_table_bytes", "Bytes of a table and its indexes.", labels=["table"])
        for table, count, size_in_bytes in sizes:
            rows.add_metric([table], count)
            if size_in_bytes is not None:
                size.add_metric([table], size_in_bytes)
        yield rows
        if size.samples:
            yield size
        yield from self.metrics

    def sizes(self) -> Sizes | None:
        """Return what `read` returns, or None if the database fails or takes longer than SCRAPE_SECONDS."""
        with self.lock:
            if self.pending_read is None or self.pending_read.done():
                self.pending_read = self.thread.submit(self.read_in_thread)
            reading = self.pending_read
        try:
            return reading.result(SCRAPE_SECONDS)
        except (Error, TimeoutError):
            return None

    def read_in_thread(self) -> Sizes:
        with own_connection(SCRAPE_SECONDS):
            sizes = self.read()
            self.metrics = list(self.figures())
            return sizes

    def read(self) -> Sizes:
        """Return each table's rows and bytes."""
        read = by_database(postgresql=read_sizes, sqlite=read_spans)
        with connection.cursor() as cursor:
            return read(cursor, self.tables)


def read_sizes(cursor: CursorWrapper, tables: Sequence[str]) -> Sizes:
    cursor.execute(SIZES, [list(tables)])
    return [(name, max(0, int(count)), int(size)) for name, count, size in cursor.fetchall()]


def read_spans(cursor: CursorWrapper, tables: Sequence[str]) -> Sizes:
    spans = [SPAN.format(table=table) for table in tables]
    cursor.execute(f"SELECT {', '.join(spans)}")
    return [(name, int(count), None) for name, count in zip(tables, cursor.fetchone(), strict=True)]
