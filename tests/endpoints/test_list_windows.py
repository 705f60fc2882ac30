"""Filtered lists and exports read in growing windows of time (PostgreSQL), against a naive reading of the filters."""

import random
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest
from django.db import connection

from accounts.auditing.models import AuditEntry
from accounts.events.models import Event
from analytics.models import AccessEvent, LedgerEntry
from kit.http.errors import ClientGone
from kit.rest.lists import windows
from kit.rest.lists.orders import Order
from kit.storage.limited import TookTooLong
from kit.values import ids
from licensing.content.models import Content
from tests import factories
from tests.client import ApiClient
from tests.standing import as_new

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = 90
# earlier versions recorded http
URLS = [*["https://example.com/a"] * 5, "http://example.com/ab", "https://example.com/1_0", "https://example.com/100%"]
Row = dict[str, Any]


def some_decisions(account: Any, draw: random.Random, moments: list[datetime]) -> None:
    items = [factories.content(account) for _ in range(2)]
    requesters = [factories.requester(account, requester_id=name) for name in ("org_a", "org_b")]
    reasons = draw.choices([None, "no_license", "no_policy"], [60, 25, 5], k=len(moments))
    AccessEvent.objects.bulk_create(
        AccessEvent(
            id=ids.new_id("dec"),
            account=account,
            content=draw.choice(items),
            requester=draw.choice(requesters),
            allowed=reason is None,
            reason=reason,
            facts={"url": draw.choice(URLS), "identifiedBy": "nothing"},
            created=moment,
        )
        for moment, reason in zip(moments, reasons, strict=True)
    )


def some_entries(account: Any, draw: random.Random, moments: list[datetime]) -> None:
    item, requester = factories.content(account), factories.requester(account, requester_id="org_a")
    LedgerEntry.objects.bulk_create(
        LedgerEntry(
            id=ids.new_id("led"),
            account=account,
            type=draw.choice(["usage"] * 8 + ["adjustment"]),
            amount=1,
            currency=draw.choice(["EUR", "EUR", "EUR", "USD"]),
            occurred_at=moment,
            license_type=draw.choice(["press", None, None]),
            content=draw.choice([item, None]),
            requester=draw.choice([requester, None]),
            created=moment,
        )
        for moment in moments
    )


def some_changes(account: Any, draw: random.Random, moments: list[datetime]) -> None:
    AuditEntry.objects.bulk_create(
        AuditEntry(
            id=ids.new_id("aud"),
            account=account,
            actor_type=draw.choice(["key"] * 5 + ["system"]),
            actor_id=draw.choice(["7", "8", None]),
            action=draw.choice(["content.updated"] * 8 + ["policy.deleted"]),
            resource_type=draw.choice(["content", "content", "policy"]),
            resource_id=draw.choice("abc"),
            resource_title="An item",
            changes={},
            created=moment,
        )
        for moment in moments
    )


def some_events(account: Any, draw: random.Random, moments: list[datetime]) -> None:
    Event.objects.bulk_create(
        Event(
            id=ids.new_id("evt"),
            account=account,
            type=draw.choice(["content.updated"] * 8 + ["policy.deleted"]),
            object_id=draw.choice("abc"),
            data=f'{{"id": "{draw.choice("abc")}"}}',
            created=moment,
        )
        for moment in moments
    )


def some_items(account: Any, draw: random.Random, moments: list[datetime]) -> None:
    policies = [factories.policy(account, name=name) for name in ("One", "Other")]
    Content.objects.bulk_create(
        Content(
            id=ids.new_id("cnt"),
            account=account,
            title=draw.choice(["An item", "An item", "Another"]),
            type=draw.choice(["article"] * 8 + ["video"]),
            status=draw.choice(["active"] * 8 + ["archived"]),
            policy=draw.choice([*policies, None]),
            created=moment,
            updated=moment + timedelta(seconds=draw.choice([0, 0, 60, 86_400])),
        )
        for moment in moments
    )


# For each list: what makes its rows, and the fields it is filtered by.
LISTS: dict[str, tuple[Callable[[Any, random.Random, list[datetime]], None], tuple[str, ...]]] = {
    "/v1/access/decisions": (some_decisions, ("contentId", "requesterId", "allowed", "reason", "url", "identifiedBy")),
    "/v1/revenue": (some_entries, ("type", "currency", "requesterId", "contentId", "licenseType")),
    "/v1/audit": (some_changes, ("action", "actorId", "actorType", "resourceId", "resourceType")),
    "/v1/events": (some_events, ("type",)),
    "/v1/content": (some_items, ("type", "status", "title", "policyId")),
}
each_list = pytest.mark.parametrize("path", LISTS)


@pytest.fixture(scope="module")
def stocked(for_the_module):
    """For each list: an account, its key and all rows, oldest first, at irregular times and some at the same."""
    draw = random.Random(5)
    steps = (draw.choice([0, 0, 0, 1, 60, 3_600, 86_400, 864_000]) for _ in range(ROWS))
    moment, moments = BEGIN, []
    for step in steps:
        moment += timedelta(seconds=step)
        moments.append(moment)
    stocked = {}
    with for_the_module():
        for path, (fill, _) in LISTS.items():
            account = factories.account()
            fill(account, draw, moments)
            key = factories.key_text(account)
            file = ApiClient(key).get(f"{path}?format=jsonl&sort=created").content
            rows = [orjson.loads(line) for line in file.splitlines()]
            made = [row for row in rows if row["created"] in {f"{one:%Y-%m-%dT%H:%M:%S.%fZ}" for one in moments}]
            assert len(made) == ROWS
            stocked[path] = (account.pk, key, rows)
    return stocked


def client_of(stocked: dict[str, tuple[str, str, list[Row]]], path: str) -> tuple[ApiClient, list[Row]]:
    account_id, key, rows = stocked[path]
    as_new(account_id)
    return ApiClient(key), rows


def value_at(row: Row, name: str) -> Any:
    value = row["requester"]["id"] if name == "requesterId" and "requester" in row else row[name]
    return value.replace("http:", "https:") if name == "url" else value


def spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def drawn_filters(draw: random.Random, rows: list[Row], names: tuple[str, ...]) -> tuple[dict[str, str], list[Row]]:
    """Return a query and its matches: one to three filters by values of the list or by none, and maybe a time."""
    query: dict[str, str] = {}
    for name in draw.sample(names, draw.randint(1, min(3, len(names)))):
        value, other = (value_at(draw.choice(rows), name) for _ in range(2))
        match draw.choice(["eq", "eq", "in", "ne", "prefix"]):
            case _ if value is None:
                query[f"{name}[exists]"] = "false"
                rows = [row for row in rows if value_at(row, name) is None]
            case "in" if other is not None:
                query[f"{name}[in]"] = ",".join(map(spelled, (value, other)))
                rows = [row for row in rows if value_at(row, name) in (value, other)]
            case "ne" if name not in ("url", "identifiedBy"):
                query[f"{name}[ne]"] = spelled(value)
                rows = [row for row in rows if value_at(row, name) != value]
            case "prefix" if name == "url":
                query["url[prefix]"] = beginning = value[: draw.randint(1, len(value))]
                rows = [row for row in rows if value_at(row, name).startswith(beginning)]
            case _:
                query[name] = spelled(value)
                rows = [row for row in rows if value_at(row, name) == value]
        if not rows:
            break
    if draw.random() < 0.3:
        since = f"{BEGIN + timedelta(days=draw.randint(0, 60)):%Y-%m-%dT00:00:00.000000Z}"
        query["created[gte]"] = since
        rows = [row for row in rows if row["created"] >= since]
    return query, rows


def give_up(*args: object) -> None:
    raise TookTooLong


@each_list
@pytest.mark.parametrize("seed", range(25))
def test_pages_have_every_match_once_in_order(stocked, db, path, seed, monkeypatch):
    api, rows = client_of(stocked, path)
    draw = random.Random(f"{path} {seed}")
    first = draw.choice([1, 3, 10])
    monkeypatch.setattr(windows, "FIRST_ROWS", first)
    monkeypatch.setattr(windows, "SHORT_ROWS", first * draw.choice([1, 4]))
    monkeypatch.setattr(windows, "INDEXED_ROWS", draw.choice([0, 20, 500]))
    monkeypatch.setattr(windows, "INDEXED_SECONDS", draw.choice([0.001, 1]))
    monkeypatch.setattr(windows, "FEW", draw.choice([1, 2, 5, 500]))
    if draw.random() < 0.3:
        monkeypatch.setattr(windows, "positions", give_up)  # then all windows are divided
    query, matches = drawn_filters(draw, rows, LISTS[path][1])
    key = draw.choice(["created", "updated"] if path == "/v1/content" else ["created"])
    sort = draw.choice([key, f"-{key}"])
    options = query | {"sort": sort, "limit": str(draw.choice([1, 4, 30, 100]))}
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.get(f"{path}?{urlencode(options | cursor)}")
        assert page.status == 200, page
        found += [row["id"] for row in page["data"]]
        if path != "/v1/access/decisions":  # whose rollups know none of these
            assert page["totalCount"] == len(matches)
        assert page["hasMore"] is ("nextCursor" in page.body)
        if not page["hasMore"]:
            break
        cursor = {"cursor": page["nextCursor"]}
    wanted = sorted(matches, key=lambda row: (row[key], row["id"]), reverse=sort.startswith("-"))
    assert found == [row["id"] for row in wanted], options
    exported = api.get(f"{path}?{urlencode(query | {'sort': sort, 'format': 'jsonl'})}").content.splitlines()
    assert [orjson.loads(line)["id"] for line in exported] == found


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no statistics to be wrong")
@each_list
def test_only_the_required_windows_are_read(stocked, db, path, monkeypatch, django_assert_max_num_queries):
    api, _ = client_of(stocked, path)
    query = {
        "/v1/access/decisions": "allowed=true",
        "/v1/revenue": "type=usage",
        "/v1/audit": "actorType=key",
        "/v1/events": "type[ne]=policy.deleted",
        "/v1/content": "type=article&expand=policy",
    }
    monkeypatch.setattr(windows, "FIRST_ROWS", 30)
    api.get(f"{path}?limit=1&count=none")
    with django_assert_max_num_queries(12) as seen:
        assert len(api.get(f"{path}?{query[path]}&limit=1&count=none")["data"]) == 1
    tables = {"/v1/access/decisions": "accessevent", "/v1/revenue": "ledgerentry", "/v1/content": "licensing_content"}
    table = tables.get(path, "accounts_")
    read = [one["sql"] for one in seen.captured_queries if table in one["sql"] and " LIMIT 2" in one["sql"]]
    assert len(read) == 1
    assert '"created" > ' in read[0]
    looking_for_windows = [
        one["sql"] for one in seen.captured_queries if "OFFSET" in one["sql"] or " LIMIT 1" in one["sql"]
    ]
    assert [table in sql for sql in looking_for_windows].count(True) == 1


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no statistics to be wrong")
@pytest.mark.parametrize(("path", "field"), [
    *((path, "") for path in LISTS), *((path, "created[gte]") for path in LISTS),
    ("/v1/access/decisions", "contentId"), ("/v1/access/decisions", "requesterId"), ("/v1/audit", "resourceId"),
    ("/v1/audit", "resourceType"), ("/v1/events", "type"),
])  # fmt: skip
def test_rows_are_read_in_order_although_the_server_expects_sorting_to_be_faster(stocked, db, path, field):
    api, rows = client_of(stocked, path)
    value = "2026-01-02" if field == "created[gte]" else value_at(rows[0], field) if field else ""
    query = urlencode({"format": "jsonl", **({field: value} if field else {})})
    plans: list[str] = []

    def explain(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if "ORDER BY" in sql and "LIMIT 500" in sql:
            execute(f"EXPLAIN {sql}", params, many, context)
            plans.append("\n".join(line for (line,) in context["cursor"].fetchall()))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain), connection.cursor() as cursor:
        cursor.execute("SET LOCAL random_page_cost = 10000")
        assert len(api.get(f"{path}?{query}").content.splitlines()) > 1
    assert plans
    assert [plan for plan in plans if re.search("(?<!Incremental )Sort  ", plan)] == []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no windows")
def test_windows_without_matches_are_not_read(stocked, db, monkeypatch, django_assert_max_num_queries):
    api, _ = client_of(stocked, "/v1/access/decisions")
    monkeypatch.setattr(windows, "FIRST_ROWS", 1)
    monkeypatch.setattr(windows, "SHORT_ROWS", 1)
    with django_assert_max_num_queries(40) as seen:
        assert api.get("/v1/access/decisions?url=https://example.com/none&count=none")["data"] == []
    read = [one["sql"] for one in seen.captured_queries if '"facts", ' in one["sql"]]
    searched = [one["sql"] for one in seen.captured_queries if "MATERIALIZED" in one["sql"]]
    assert len(read) <= 2  # the first window, and the unbounded rest
    assert searched


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no windows")
def test_windows_grow_while_they_are_read_fast(account, monkeypatch):
    seconds = [0, 1, 90]
    Event.objects.bulk_create(
        Event(
            account=account, type="content.updated", object_id="a", data="{}", created=BEGIN + timedelta(seconds=one)
        )
        for one in seconds
    )
    clock = iter([0.0, 0.1, 1.0, 1.4, 2.0, 2.6, 3.0, 6.0, 7.0, 7.1])  # when each window is begun and has been read
    monkeypatch.setattr(windows, "monotonic", lambda: next(clock))
    monkeypatch.setattr(windows, "FIRST_ROWS", 1)
    monkeypatch.setattr(windows, "SHORT_ROWS", 1)

    every, order = Event.objects.filter(account=account, created__lte=BEGIN + timedelta(minutes=2)), Order("created")
    ascending = list(windows.windows(every, replace(order, descending=False), BEGIN))
    assert [(one.end - one.begin).seconds for one in ascending if one.end] == [1, 4, 16, 32, 32, 16]
    assert [one.rows for one in ascending] == [1, 4, 16, 32, 32, 16, 0]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no windows")
@pytest.mark.parametrize("extra", ["", "&contentId={item}"])
def test_the_decisions_of_an_item_are_searched_by_its_index_if_a_summary_does_not_help(
    stocked, db, monkeypatch, extra
):
    api, rows = client_of(stocked, "/v1/access/decisions")
    monkeypatch.setattr(windows, "FIRST_ROWS", 1)
    monkeypatch.setattr(windows, "SHORT_ROWS", 1)
    searches: list[tuple[float, dict[str, str]]] = []

    def search(using: object, seconds: float, sql: object, parameters: object, settings: Any) -> list[object]:
        searches.append((seconds, dict(settings)))
        if seconds == windows.INDEXED_SECONDS:
            raise TookTooLong
        return []

    monkeypatch.setattr(windows, "rows_within", search)
    url = f"/v1/access/decisions?url=https://example.com/none&count=none{extra.format(item=rows[0]['contentId'])}"
    assert api.get(url)["data"] == []
    (seconds, settings), *further = searches
    assert further
    if extra:
        assert (seconds, settings) == (windows.INDEXED_SECONDS, windows.INDEX_SETTINGS)
        assert all(one == (windows.MOST_SECONDS, windows.INDEX_ORDER_SETTINGS) for one in further)
    else:
        assert all(one == (windows.MOST_SECONDS, windows.INDEX_SETTINGS) for one in searches)


@pytest.mark.django_db
def test_a_search_ends_when_the_client_has_left(for_nobody):
    every = Event.objects.all()
    with pytest.raises(ClientGone):
        windows.WindowedPagination().read_windows(every, every, [windows.Window(Order("created"), None, None, 1)], 1)
