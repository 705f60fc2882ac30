"""Sizes of the tables that grow with traffic, read when Prometheus scrapes."""

from collections.abc import Iterator, Sequence

from django.db import DatabaseError, connection
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

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


class TableSizes(Collector):
    """Rows and bytes of tables. Nothing while the database does not answer. On SQLite only rows."""

    def __init__(self, tables: Sequence[str]) -> None:
        self.tables = tables

    def collect(self) -> Iterator[Metric]:
        rows = GaugeMetricFamily("licensing_table_rows", "Rows of a table, estimated.", labels=["table"])
        size = GaugeMetricFamily("licensing_table_bytes", "Bytes of a table and its indexes.", labels=["table"])
        try:
            for table, count, size_in_bytes in self.read():
                rows.add_metric([table], count)
                if size_in_bytes is not None:
                    size.add_metric([table], size_in_bytes)
        except DatabaseError:
            return
        yield rows
        if size.samples:
            yield size

    def read(self) -> list[tuple[str, int, int | None]]:
        """Return each table's rows and bytes."""
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute(SIZES, [list(self.tables)])
                return [(name, max(0, int(count)), int(size)) for name, count, size in cursor.fetchall()]
            spans = [SPAN.format(table=table) for table in self.tables]
            cursor.execute(f"SELECT {', '.join(spans)}")
            return [(name, int(count), None) for name, count in zip(self.tables, cursor.fetchone(), strict=True)]
