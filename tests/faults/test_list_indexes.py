"""Each order and prefix filter of a long list is read from an index."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Account
from kit.rest.lists import windows
from licensing.content.models import Content
from tests import factories
from tests.client import ApiClient
from tests.faults.plans import plans_of_page
from tests.standing import Unblock, as_new

pytestmark = [pytest.mark.faults, pytest.mark.django_db]


def is_read_in_order(plan: str, index: str) -> bool:
    return index in plan and "sort" not in plan.lower() and "temp b-tree" not in plan.lower()


@pytest.fixture(scope="module")
def long_list(for_the_module: Unblock) -> str:
    """The id of an account with so many items that no planner would sort them; a second account has some, too."""
    with for_the_module():
        account = factories.account()
        fill(account, 4_000)
        fill(factories.account(name="Other"), 500)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE licensing_content")
    return account.pk


def fill(account: Account, count: int) -> None:
    begin = timezone.now() - timedelta(days=30)
    moments = [begin + timedelta(seconds=number * 7919 % count) for number in range(count)]
    Content.objects.bulk_create(
        Content(
            account=account,
            title=f"Item {number * 7919 % count:05}",
            external_id=f"ext-{number:05}",
            created=begin + timedelta(seconds=number),
            updated=moments[number],
        )
        for number in range(count)
    )


@pytest.fixture
def account(db: None, long_list: str) -> Account:
    return as_new(long_list)


@pytest.mark.parametrize("direction", ["", "-"])
@pytest.mark.parametrize(
    ("key", "index"),
    [("created", "content_newest_first"), ("updated", "content_by_updated"), ("title", "content_title_order")],
)
def test_a_page_in_any_order_is_read_from_an_index(api: ApiClient, key: str, index: str, direction: str) -> None:
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
def test_a_beginning_is_looked_up_in_an_index(api, query, indexes, monkeypatch):
    assert api.get(f"/v1/content?{query}")["totalCount"] == 10
    if connection.vendor == "postgresql":
        monkeypatch.setattr(windows, "SHORT_ROWS", 200)  # so that matches are counted in these few items, too
        plans = plans_of_page(api, f"/v1/content?{query}&limit=20&count=none", "MATERIALIZED")
        assert any(index in plans[-1] for index in indexes), plans[-1]
