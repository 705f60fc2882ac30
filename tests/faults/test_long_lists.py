"""Paginating a long list during inserts (docs/reference/api.md, Lists and filters).

FAULT_ITEMS sets how many items; benchmarks/list_walk.py measures the pages of 100,000.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Account
from kit.values import ids
from licensing.content.models import Content
from tests import factories
from tests.client import ApiClient
from tests.faults.plans import plans_of_page

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
