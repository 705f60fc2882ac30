"""/metrics shows the sizes of the tables that grow, and whether the database answers."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from unittest.mock import Mock

import pytest
from django.db import OperationalError, connection

from config.monitoring.metrics_page import GROWING_TABLES
from kit.telemetry import tables
from tests.observability.scrape import scrape, value

ROWS, BYTES, UP = "licensing_table_rows", "licensing_table_bytes", "licensing_database_up"
ON_POSTGRESQL = connection.vendor == "postgresql"
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient")]


@pytest.fixture
def execute() -> Iterator[Callable[[str], None]]:
    """Run SQL and let PostgreSQL count what it wrote.

    These tests use tables of their own. Sessions of former tests count late that they truncated the project's.
    """

    def run(sql: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            if ON_POSTGRESQL:  # otherwise within a second
                cursor.execute("SELECT pg_stat_force_next_flush()")

    yield run
    run("DROP TABLE IF EXISTS visits")


def test_every_table_that_grows_is_shown():
    samples = scrape()
    assert value(samples, UP) == 1
    for table in GROWING_TABLES:
        assert f'{ROWS}{{table="{table}"}}' in samples
        assert (f'{BYTES}{{table="{table}"}}' in samples) is ON_POSTGRESQL


def test_rows_are_counted(execute):
    execute("CREATE TABLE visits (id integer PRIMARY KEY)")
    execute("INSERT INTO visits VALUES (1), (2), (3)")
    execute("DELETE FROM visits WHERE id = 1")
    [(table, rows, size)] = tables.TableSizes(["visits"]).sizes()
    assert (table, rows) == ("visits", 2)
    assert (size > 0) if ON_POSTGRESQL else size is None


@pytest.mark.skipif(not ON_POSTGRESQL, reason="SQLite has no partitions")
def test_a_partitioned_table_has_the_rows_and_bytes_of_its_partitions(execute):
    execute("CREATE TABLE visits (id integer) PARTITION BY RANGE (id)")
    execute("CREATE TABLE visits_first PARTITION OF visits FOR VALUES FROM (1) TO (10)")
    execute("CREATE TABLE visits_default PARTITION OF visits DEFAULT")
    execute("INSERT INTO visits VALUES (1), (2), (20)")
    sizes = {table: (rows, size) for table, rows, size in tables.TableSizes(["visits", "visits_first"]).sizes()}
    assert (sizes["visits"][0], sizes["visits_first"][0]) == (3, 2)
    assert sizes["visits"][1] > sizes["visits_first"][1] > 0


@pytest.mark.skipif(ON_POSTGRESQL, reason="PostgreSQL keeps the number of rows")
def test_sqlite_looks_the_sizes_up_without_reading_a_table():
    spans = [tables.SPAN.format(table=table) for table in GROWING_TABLES]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN SELECT {', '.join(spans)}")
        steps = [step for *_, step in cursor.fetchall()]
    assert sum(step.startswith("SEARCH") for step in steps) == 2 * len(GROWING_TABLES)
    assert [step for step in steps if step.startswith("SCAN")] == ["SCAN CONSTANT ROW"]  # the row that is returned


def test_other_metrics_are_shown_while_the_database_is_gone(monkeypatch):
    monkeypatch.setattr(tables.TableSizes, "read", Mock(side_effect=OperationalError("gone")))
    samples = scrape()
    assert ROWS not in samples
    assert f"{UP} 0.0" in samples
    assert "licensing_build_info" in samples


def test_scrapes_do_not_wait_for_a_database_that_hangs_and_share_one_read(monkeypatch):
    resumed, begun, ended = Event(), [], []

    def hang(self):
        begun.append(1)
        assert resumed.wait(60)
        ended.append(1)
        return [(table, 1, None) for table in self.tables]

    monkeypatch.setattr(tables, "SCRAPE_SECONDS", 0.2)
    monkeypatch.setattr(tables.TableSizes, "read", hang)
    try:
        with ThreadPoolExecutor(3) as threads:
            scraped = list(threads.map(lambda _: scrape(), range(6)))
        assert (begun, ended) == ([1], [])
    finally:
        resumed.set()
    for samples in scraped:
        assert f"{UP} 0.0" in samples
        assert ROWS not in samples
        assert "licensing_build_info" in samples
    monkeypatch.setattr(tables, "SCRAPE_SECONDS", 60)
    assert value(scrape(), UP) == 1
