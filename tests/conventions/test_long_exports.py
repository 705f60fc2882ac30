import csv
import gc
import io
import json
import tracemalloc
from statistics import median
from unittest.mock import Mock

import orjson
import pytest
from django.db import OperationalError

from analytics.models import AccessEvent
from kit.rest import export
from tests import factories
from tests.analytics.recording import record_all, some_events, utc
from tests.conventions.endpoints import each_exportable_list
from tests.conventions.listed import grow, identity, walk

each_form = pytest.mark.parametrize("form", ["csv", "jsonl"])


def rows_of(reply, form):
    if form == "jsonl":
        return [json.loads(line) for line in reply.content.splitlines()]
    return list(csv.DictReader(io.StringIO(reply.content.decode(), newline="")))


@pytest.fixture
def chunks_of_three(monkeypatch):
    monkeypatch.setattr("kit.rest.lists.mixin.CHUNK", 3)


@each_form
@each_exportable_list()
def test_a_file_of_three_chunks_is_complete_and_goes_on_after_any_row(api, ids, endpoint, form, chunks_of_three):
    path = endpoint.filled(ids)[0]
    grow(api, ids, endpoint.path, 7)
    listed, _ = walk(api, path, limit=100)
    exported = rows_of(api.get(path, format=form), form)
    assert [row["id"] for row in exported] == [id_ for id_, _ in listed]
    assert len(listed) >= 7

    whole = api.get(path, format=form).content.splitlines(keepends=True)
    head = whole[:1] if form == "csv" else []
    rows = [row["id"] for row in rows_of(api.get(path, format=form), form)]
    for place, id_ in enumerate(rows, 1):
        reply = api.get(path, format=form, after=id_)
        assert (reply.status, reply.content) == (200, b"".join(whole[len(head) + place :]))


@each_exportable_list()
def test_files_of_each_list_have_its_objects_and_fields(api, ids, endpoint, chunks_of_three):
    path = endpoint.filled(ids)[0]
    grow(api, ids, endpoint.path, 7)
    assert rows_of(api.get(path, format="jsonl"), "jsonl") == api.get(path, limit=100)["data"]
    fields = {name for row in api.get(path, limit=100)["data"] for name in row} - {"object"}
    columns = {name.partition(".")[0] for row in rows_of(api.get(path, format="csv"), "csv")[:1] for name in row}
    assert fields - columns == set()

    lines = api.get(path, format="jsonl").content.splitlines()
    for row, line in zip(rows_of(api.get(path, format="csv"), "csv"), lines, strict=True):
        for column, text in row.items():
            value = orjson.loads(line)
            for name in column.split("."):
                value = (value or {}).get(name)
            expected = value if isinstance(value, str) else "" if value is None else orjson.dumps(value).decode()
            assert (column, text.removeprefix("'")) == (column, expected)
    [row] = api.get(path, limit=1)["data"]
    assert api.get(path, after=row["id"]).error["param"] == "after"


def test_a_list_of_objects_is_a_cell_of_json(api, account):
    policy = factories.policy(account)
    rules = [{"pattern": "/premium/*", "policyId": policy.pk}, {"pattern": "/free", "policyId": None}]
    assert api.post("/v1/sites", {"host": "pub.example", "rules": rules}).status == 201
    [row] = rows_of(api.get("/v1/sites", format="csv"), "csv")
    assert json.loads(row["rules"]) == rules
    assert rows_of(api.get("/v1/sites", format="csv", fields="rules"), "csv") == [
        {"id": row["id"], "rules": row["rules"]}
    ]


@each_form
def test_options_of_the_request_hold_for_every_chunk(api, account, form, chunks_of_three):
    policy = factories.policy(account)
    items = [factories.content(account, policy_id=policy.pk) for _ in range(8)]
    rows = rows_of(api.get("/v1/content", format=form, expand="policy", fields="id,policy"), form)
    assert [row["id"] for row in rows] == [item.pk for item in reversed(items)]
    if form == "jsonl":
        assert [row["policy"]["id"] for row in rows] == [policy.pk] * 8


@pytest.mark.slow
@each_form
def test_three_chunks_of_the_real_size_are_complete(api, account, form):
    count = 3 * export.CHUNK
    items = [{"title": f"Item {number}"} for number in range(count)]
    for begin in range(0, count, 1_000):
        assert api.post("/v1/content/bulk", {"items": items[begin : begin + 1_000]}).status == 200
    exported = rows_of(api.get("/v1/content", format=form), form)
    assert [identity(row)[0] for row in exported] == [id_ for id_, _ in walk(api, "/v1/content", limit=100)[0]]
    assert len(exported) == count


def test_a_long_file_of_decisions_has_every_row_once(api, account):
    record_all(some_events(account, 3 * export.CHUNK, utc("2026-01-01"), 2, seed=1))
    recorded = set(AccessEvent.objects.filter(account=account).values_list("pk", flat=True))
    ids = [row["id"] for row in rows_of(api.get("/v1/access/decisions", format="csv"), "csv")]
    assert (len(ids), set(ids)) == (3 * export.CHUNK, recorded)


@each_exportable_list()
def test_a_file_goes_on_after_a_row_of_the_accounts_own_alone(api, other_api, ids, theirs, endpoint):
    path = endpoint.filled(ids)[0]
    own = {row["id"] for row in api.get(path, limit=100)["data"]}
    foreign = {row["id"] for row in other_api.get(endpoint.filled(theirs)[0], limit=100)["data"]}
    for id_ in (*(foreign - own), "nonsense", ""):
        assert api.get(path, format="csv", after=id_).status_and_param == (400, "after"), id_


def test_a_file_goes_on_in_its_own_order_and_among_what_its_filters_find(api, account, chunks_of_three):
    for title in "dbhfaceg":
        factories.content(account, title=title, type="report" if title in "bdfh" else "article")
    query = {"format": "jsonl", "sort": "title"}
    rows = rows_of(api.get("/v1/content", **query), "jsonl")
    found = rows_of(api.get("/v1/content", **query, type="report", after=rows[2]["id"]), "jsonl")
    assert [row["title"] for row in found] == list("dfh")


def test_rows_added_meanwhile_do_not_disturb_a_file_that_goes_on(api, account):
    items = [factories.content(account).pk for _ in range(5)]
    factories.content(account)
    rest = rows_of(api.get("/v1/content", format="jsonl", after=items[3]), "jsonl")
    assert [row["id"] for row in rest] == items[2::-1]


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


def test_an_export_pauses_for_as_long_as_it_computes_if_others_are_busy():
    for spent, others, seconds in [
        (1.0, 0.0, 0.0),
        (1.0, 0.05, 0.0),
        (1.0, 0.075, 0.5),
        (1.0, 0.1, 1.0),
        (1.0, 5.0, 1.0),
        (0.5, 0.05, 0.5),
    ]:
        assert export.pause(spent, others) == pytest.approx(seconds), spent


def test_a_database_that_fails_at_once_is_an_ordinary_error(api, monkeypatch):
    monkeypatch.setattr("kit.rest.lists.windows.WindowedPagination.read", Mock(side_effect=OperationalError("gone")))
    assert api.get("/v1/access/decisions", format="csv").status == 503
