import gc
import tracemalloc
from statistics import median

import pytest
from django.db import OperationalError

from kit.rest import export
from tests.analytics.recording import record_all, some_events, utc

LISTS = [
    "/v1/access/decisions", "/v1/revenue", "/v1/content", "/v1/policies", "/v1/licenses", "/v1/sites", "/v1/audit",
    "/v1/events", "/v1/wallets", "/v1/payments", "/v1/api-keys",
]  # fmt: skip
EXPORTS = [*LISTS, "/v1/analytics/usage", "/v1/analytics/revenue"]
every_export = pytest.mark.parametrize("path", EXPORTS)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_rows(api, account, monkeypatch):
    monkeypatch.setattr("kit.rest.lists.mixin.CHUNK", 50)
    record_all(some_events(account, 3_000, utc("2026-01-01"), 2, seed=1))
    path = "/v1/access/decisions?format=csv"

    response = api.client.get(path, headers=api.headers)
    sizes, kept = [], []  # of each part, and what was in memory after it, in bytes
    gc.collect()
    gc.freeze()  # otherwise each collection scans everything that Django has loaded
    tracemalloc.start()
    try:
        for part in response.streaming_content:
            sizes.append(len(part))
            gc.collect()  # measures kept objects, not garbage
            kept.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    # The first parts fill caches. Medians, because other threads' memory is counted, too.
    assert len(sizes) >= 60
    growth = median(kept[-10:]) - median(kept[10:20])
    assert growth < sum(sizes[20:-10]) / 2


def test_a_client_that_goes_away_ends_the_queries(for_nobody):
    asked = []

    def chunks():
        for number in range(10):
            asked.append(number)
            yield [{"id": number}]

    assert list(export.while_wanted(chunks())) == []
    assert asked == [0]


@pytest.mark.parametrize(
    ("spent", "others", "seconds"),
    [(1.0, 0.0, 0.0), (1.0, 0.05, 0.0), (1.0, 0.075, 0.5), (1.0, 0.1, 1.0), (1.0, 5.0, 1.0), (0.5, 0.05, 0.5)],
)
def test_an_export_pauses_for_as_long_as_it_computes_if_others_are_busy(spent, others, seconds):
    assert export.pause(spent, others) == pytest.approx(seconds)


def test_a_database_that_fails_at_once_is_an_ordinary_error(api, monkeypatch):
    def fail(*args, **options):
        raise OperationalError("gone")

    monkeypatch.setattr("kit.rest.lists.windows.WindowedPagination.read", fail)
    assert api.get("/v1/access/decisions", format="csv").status == 503
