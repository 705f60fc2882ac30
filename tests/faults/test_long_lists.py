"""Paginating a long list during inserts (docs/reference/api.md, Lists and filters).

FAULT_ITEMS sets how many items; benchmarks/list_walk.py measures the pages of 100,000.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Account
from kit.rest.lists import windows
from kit.values import ids
from licensing.content.models import Content
from tests import factories
from tests.client import ApiClient

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]

ITEMS = int(os.environ.get("FAULT_ITEMS") or 8_000)
IN_ONE_MICROSECOND = 3_000


def fill(account: Account) -> set[str]:
    """Create items and return their ids: most a second apart, the middle ones in the same microsecond."""
    begin = timezone.now() - timedelta(days=30)
    middle = range((ITEMS - IN_ONE_MICROSECOND) // 2, (ITEMS + IN_ONE_MICROSECOND) // 2)
    items = []
    for number in range(ITEMS):
        created = begin + timedelta(seconds=middle.start if number in middle else number)
        items.append(Content(account=account, title="Item", created=created, updated=created))
    Content.objects.bulk_create(items, batch_size=5_000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE licensing_content")
    return {item.pk for item in items}


@contextmanager
def inserting(account: Account) -> Iterator[list[str]]:
    """Create items in another thread within the block, and list their ids."""
    inserted: list[str] = []
    stop = threading.Event()

    def work() -> None:
        try:
            while not stop.wait(0.02):
                inserted.append(factories.content(account).pk)
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield inserted
    finally:
        stop.set()
        thread.join()


def plans_of_page(api: ApiClient, path: str, statement: str = "ORDER BY") -> list[str]:
    """Return the database's query plans for the page's statements that contain a text."""
    plans: list[str] = []

    def explain(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if statement in sql and 'FROM "licensing_content"' in sql:
            how = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
            execute(f"{how} {sql}", params, many, context)
            plans.append("\n".join(str(row) for row in context["cursor"].fetchall()))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        assert api.get(path).status == 200
    return plans


def test_a_long_walk_meets_each_older_item_exactly_once_while_others_are_inserted(
    api: ApiClient, account: Account
) -> None:
    older = fill(account)
    met: list[str] = []
    with inserting(account) as inserted:
        page = api.get("/v1/content?limit=100")
        while page.status == 200:
            met += [item["id"] for item in page["data"]]
            if not page["hasMore"]:
                break
            following = f"/v1/content?limit=100&cursor={page['nextCursor']}"
            if len(met) == ITEMS * 9 // 10:
                deep = following
            page = api.get(following)

    assert page.status == 200
    assert inserted, "Nothing was inserted during the walk."
    assert len(met) == len(set(met))
    assert older <= set(met)
    assert set(met) - older <= set(inserted)
    plans = plans_of_page(api, deep)
    assert plans
    for plan in plans:
        assert "content_newest_first" in plan
        assert "sort" not in plan.lower()
        assert "temp b-tree" not in plan.lower()


def is_read_in_order(plan: str, index: str) -> bool:
    return index in plan and "sort" not in plan.lower() and "temp b-tree" not in plan.lower()


@pytest.fixture
def long_list(account: Account) -> None:
    """So many items that no planner would sort them; a second account has some, too."""
    begin = timezone.now() - timedelta(days=30)
    for owner, count in ((account, 4_000), (factories.account(name="Other"), 500)):
        moments = [begin + timedelta(seconds=number * 7919 % count) for number in range(count)]
        Content.objects.bulk_create(
            Content(
                account=owner,
                title=f"Item {number * 7919 % count:05}",
                external_id=f"ext-{number:05}",
                created=begin + timedelta(seconds=number),
                updated=moments[number],
            )
            for number in range(count)
        )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE licensing_content")


@pytest.mark.parametrize("direction", ["", "-"])
@pytest.mark.parametrize(
    ("key", "index"),
    [
        ("created", "content_newest_first"),
        ("updated", "content_by_updated"),
        ("title", "content_title_order"),
    ],
)
def test_a_page_in_any_order_is_read_from_an_index(
    api: ApiClient, long_list: None, key: str, index: str, direction: str
) -> None:
    path = f"/v1/content?sort={direction}{key}&limit=50"
    first = api.get(path)
    for page in (path, f"{path}&cursor={first['nextCursor']}"):
        plans = plans_of_page(api, page)
        assert plans
        for plan in plans:
            assert is_read_in_order(plan, index), plan


@pytest.mark.parametrize(
    ("query", "indexes"),
    [
        ("title[startsWith]=Item 0012", ["content_title_order"]),
        ("externalId[startsWith]=ext-0012", ["content_by_external_id", "external_id_is_unique"]),
    ],
)
def test_a_beginning_is_looked_up_in_an_index(
    api: ApiClient, long_list: None, query: str, indexes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert api.get(f"/v1/content?{query}")["totalCount"] == 10
    if connection.vendor == "postgresql":
        monkeypatch.setattr(windows, "SHORT", 1)  # so that matches are counted in these few items, too
        plans = plans_of_page(api, f"/v1/content?{query}&limit=20&count=none", "MATERIALIZED")
        assert any(index in plans[-1] for index in indexes), plans[-1]


def test_a_cursor_within_one_microsecond_goes_on_at_the_next_id(api: ApiClient, account: Account) -> None:
    moment = timezone.now() - timedelta(days=1)
    made = [ids.new_id("cnt") for _ in range(250)]
    Content.objects.bulk_create(
        Content(id=id_, account=account, title="Item", created=moment, updated=moment) for id_ in made
    )

    first = api.get("/v1/content?limit=100")
    Content.objects.create(account=account, title="Late", created=moment, updated=moment)  # the highest id so far
    second = api.get(f"/v1/content?limit=100&cursor={first['nextCursor']}")
    third = api.get(f"/v1/content?limit=100&cursor={second['nextCursor']}")

    assert [item["id"] for page in (first, second, third) for item in page["data"]] == sorted(made, reverse=True)
