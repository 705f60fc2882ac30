"""Paginating a long list during inserts, and searching one (docs/reference/api.md, Lists and filters).

FAULT_ITEMS sets how many items.
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
from analytics.models import AccessEvent
from kit.rest.lists import windows
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


def test_a_long_walk_meets_each_older_item_exactly_once_while_others_are_inserted(api, account):
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


@pytest.mark.slow
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no windows")
def test_a_search_that_takes_too_long_is_continued_in_parts(api, account, monkeypatch):
    """Most decisions are of one hour long ago. A window that has it takes longer than a search may."""
    begin = timezone.now() - timedelta(days=300)
    made = {"account": account, "content": factories.content(account), "requester": factories.requester(account)}
    moments = [begin + timedelta(seconds=number * 3_600 / 40_000) for number in range(40_000)]
    moments += [begin + timedelta(days=number) for number in range(2, 300)]
    rare = {17, 18, 39_999, 40_100}
    events = [
        AccessEvent(
            **made,
            id=ids.new_id("dec"),
            allowed=True,
            facts={"url": f"https://example.com/{'rare' if number in rare else number % 100}"},
            created=moment,
        )
        for number, moment in enumerate(moments)
    ]
    AccessEvent.objects.bulk_create(events, batch_size=5_000)
    monkeypatch.setattr(windows, "MOST_SECONDS", 0.001)

    divided: list[windows.Window] = []
    parts = windows.parts
    monkeypatch.setattr(windows, "parts", lambda every, whole: divided.append(whole) or parts(every, whole))

    for sort in ("-created", "created"):
        path = f"/v1/access/decisions?url[prefix]=https://example.com/rar&limit=3&sort={sort}&count=none"
        page = api.get(path)
        rest = api.get(f"{path}&cursor={page['nextCursor']}")
        found = [one["id"] for one in (*page["data"], *rest["data"])]
        assert found == [events[number].pk for number in sorted(rare, reverse=sort.startswith("-"))]
        assert (page["hasMore"], rest["hasMore"]) == (True, False)
    assert divided
