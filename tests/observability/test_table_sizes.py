"""/metrics shows the sizes of the tables that grow, and whether the database answers."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import monotonic

import pytest
from django.db import OperationalError, connection

from accounts.retries.models import IdempotencyRecord
from config.pages import GROWING_TABLES
from kit.telemetry import tables
from tests import factories
from tests.observability.scrape import scrape, value

ROWS, BYTES, UP = "licensing_table_rows", "licensing_table_bytes", "licensing_database_up"
ON_POSTGRESQL = connection.vendor == "postgresql"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a busy machine read the sizes late."""
    monkeypatch.setattr(tables, "SECONDS", 60)


def flush_statistics() -> None:
    """Let PostgreSQL count what this session wrote, which it otherwise does within a second."""
    if ON_POSTGRESQL:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_force_next_flush()")


def test_every_table_that_grows_is_shown():
    samples = scrape()
    assert value(samples, UP) == 1
    for table in GROWING_TABLES:
        assert f'{ROWS}{{table="{table}"}}' in samples
        assert (f'{BYTES}{{table="{table}"}}' in samples) is ON_POSTGRESQL


def test_rows_are_counted(account):
    table = IdempotencyRecord._meta.db_table
    before = value(scrape(), ROWS, table=table)
    records = [
        IdempotencyRecord(account=account, key=str(n), fingerprint=b"", created=account.created) for n in range(7)
    ]
    IdempotencyRecord.objects.bulk_create(records)
    flush_statistics()
    assert value(scrape(), ROWS, table=table) == before + 7


def test_a_partitioned_table_has_the_rows_of_its_partitions(api, account):
    item = factories.content(account)
    before = value(scrape(), ROWS, table="analytics_accessevent")
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    flush_statistics()
    after = scrape()
    assert value(after, ROWS, table="analytics_accessevent") == before + 1
    if ON_POSTGRESQL:
        default = "analytics_accessevent_default"
        assert value(after, BYTES, table="analytics_accessevent") >= value(after, BYTES, table=default) > 0


@pytest.mark.skipif(ON_POSTGRESQL, reason="PostgreSQL keeps the number of rows")
def test_sqlite_looks_the_sizes_up_without_reading_a_table():
    spans = [tables.SPAN.format(table=table) for table in GROWING_TABLES]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN SELECT {', '.join(spans)}")
        steps = [step for *_, step in cursor.fetchall()]
    assert sum(step.startswith("SEARCH") for step in steps) == 2 * len(GROWING_TABLES)
    assert [step for step in steps if step.startswith("SCAN")] == ["SCAN CONSTANT ROW"]  # the row that is returned


def test_other_metrics_are_shown_while_the_database_is_gone(monkeypatch):
    def fail(self):
        raise OperationalError("gone")

    monkeypatch.setattr(tables.TableSizes, "read", fail)
    samples = scrape()
    assert ROWS not in samples
    assert f"{UP} 0.0" in samples
    assert "licensing_build_info" in samples


def test_scrapes_do_not_wait_for_a_database_that_hangs_and_share_one_read(monkeypatch):
    resumed, reads = Event(), []

    def hang(self):
        reads.append(1)
        assert resumed.wait(60)
        return [(table, 1, None) for table in self.tables]

    monkeypatch.setattr(tables, "SECONDS", 0.2)
    monkeypatch.setattr(tables.TableSizes, "read", hang)
    began = monotonic()
    try:
        with ThreadPoolExecutor(3) as threads:
            scraped = list(threads.map(lambda _: scrape(), range(6)))
        assert monotonic() - began < 30
    finally:
        resumed.set()
    assert len(reads) == 1
    for samples in scraped:
        assert f"{UP} 0.0" in samples
        assert ROWS not in samples
        assert "licensing_build_info" in samples
    monkeypatch.setattr(tables, "SECONDS", 60)
    assert value(scrape(), UP) == 1
