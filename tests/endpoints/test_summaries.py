from collections.abc import Iterator
from contextlib import suppress

import pytest
from django.db import connection

from kit.storage import summaries
from kit.storage.limited import TookTooLong, rows_within
from kit.storage.summaries import summarize_new_blocks
from tests.lock_waits import open_session

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no summaries"),
]


@pytest.fixture
def visits(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The summary of a table of its own, into whose blocks no other test wrote."""
    monkeypatch.setattr(summaries, "complete", {})
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE visits (path text, country text, note text)")
        cursor.execute(
            """CREATE INDEX visits_summary ON visits USING brin (path text_bloom_ops, country text_bloom_ops)
            WITH (pages_per_range = 64)"""
        )
        cursor.execute(
            """INSERT INTO visits SELECT (n / 1000)::text, (n % 7)::text, repeat('note', 50)
            FROM generate_series(1, 200000) n"""
        )
    yield "visits_summary"
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE visits")


@pytest.fixture
def interrupted(visits: str) -> str:
    """A summary that was cancelled amid a block; PostgreSQL says that nothing is missing."""
    for seconds in (0.004, 0.006, 0.009, 0.013, 0.02, 0.03, 0.045, 0.07):
        with connection.cursor() as cursor:
            cursor.execute(
                """SELECT brin_desummarize_range('visits_summary', block)
                FROM generate_series(0, pg_relation_size('visits') / 8192, 64) block"""
            )
        with suppress(TookTooLong):
            rows_within(connection, seconds, "SELECT brin_summarize_new_values(%s::regclass)", [visits])
        summaries.summarize(visits)
        assert summaries.summarize(visits) == 0
        if summaries.first_unsummarised(visits) is not None:
            return visits
    raise AssertionError("No block was being summarised when the time was over.")


def test_blocks_are_summarised_once(visits: str) -> None:
    assert summarize_new_blocks() > 90
    assert summaries.summarize(visits) == 0


@pytest.mark.django_db(transaction=True)
def test_blocks_of_a_table_that_is_being_vacuumed_are_left_to_that(visits: str) -> None:
    with open_session() as vacuum:
        vacuum.execute("LOCK TABLE visits IN SHARE UPDATE EXCLUSIVE MODE")
        summarize_new_blocks()
    assert summaries.summarize(visits) > 90


def test_blocks_behind_an_interrupted_summary_are_not_read(interrupted: str) -> None:
    assert summaries.first_unsummarised(interrupted) is not None
    summarize_new_blocks()
    assert summaries.first_unsummarised(interrupted) is None
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM visits WHERE path = '7' AND country = '0'")
        assert cursor.fetchone() == (143,)


def test_a_summary_that_cannot_be_repaired_is_logged_once(
    visits: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(summaries, "first_unsummarised", lambda name: 640 if name == visits else None)
    for _ in range(2):
        summarize_new_blocks()
    [told] = [record.getMessage() for record in caplog.records]
    assert told.endswith("REINDEX INDEX CONCURRENTLY visits_summary mends it.")


def test_every_bloom_filter_can_be_searched_for_what_it_leaves_out() -> None:
    with connection.cursor() as cursor:
        cursor.execute(summaries.SUMMARIES)
        searches = {name: summaries.search_by(name) for name, _ in cursor.fetchall()}
    assert {name for name, search in searches.items() if search is None} == {"ledger_times"}
    for name, search in searches.items():
        if search is not None:
            [(plan,)] = rows_within(
                connection, 10, f"EXPLAIN (FORMAT JSON) {search[1]}", None, summaries.SUMMARY_SETTINGS
            )
            assert plan[0]["Plan"]["Plans"][0]["Index Name"] == name  # type: ignore[index]
