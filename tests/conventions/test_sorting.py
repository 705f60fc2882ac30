from datetime import UTC, datetime, timedelta

import pytest

from licensing.content.models import Content
from tests import factories
from tests.conventions.endpoints import each_list
from tests.conventions.listed import grow, identity, make_simultaneous, walk

BEGIN = datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC)
SORTS = ["created", "-created", "updated", "-updated", "title", "-title"]
every_sort = pytest.mark.parametrize("sort", SORTS)


@pytest.fixture
def items(account):
    """Twelve items with unrelated orders of titles, times and ids; values repeat two or three times."""
    titles = ["b", "B", "a", "é", "b", "", "z", "b", "Z", "\U0001f600", "￿", "a"]
    made = []
    for number, title in enumerate(titles):
        created, updated = (BEGIN + timedelta(microseconds=number * step % 12 // 3) for step in (5, 7))
        made.append(Content(account=account, title=title or " ", created=created, updated=updated))
    Content.objects.bulk_create(made)
    return made


def in_order(items, sort):
    """Return their ids in `sort` order; Python compares text by code points, too."""
    name = sort.removeprefix("-")
    ordered = sorted(items, key=lambda item: (getattr(item, name), item.pk), reverse=sort.startswith("-"))
    return [item.pk for item in ordered]


@every_sort
@pytest.mark.parametrize("limit", [1, 5, 100])
def test_content_is_sorted_across_pages(api, items, sort, limit):
    walked, pages = walk(api, "/v1/content", sort=sort, limit=limit)
    assert [id_ for id_, _ in walked] == in_order(items, sort)
    assert {page["totalCount"] for page in pages} == {12}


@every_sort
def test_concurrent_writes_neither_hide_nor_repeat_a_row(api, account, items, sort):
    """Inserts and deletions do not shift the other rows of a paginated list."""
    expected = in_order(items, sort)
    met, query, number = [], {"sort": sort, "limit": 2}, 0
    while True:
        page = api.get("/v1/content", **query)
        met += [item["id"] for item in page["data"]]
        if not page["hasMore"]:
            break
        query["cursor"] = page["nextCursor"]
        api.delete(f"/v1/content/{met[-1]}")  # the very row that the cursor names
        for title in ("", "b", "zzz"):
            created, updated = BEGIN + timedelta(microseconds=number % 4), BEGIN + timedelta(microseconds=number % 3)
            Content.objects.create(account=account, title=title, created=created, updated=updated)
            number += 1
    assert [id_ for id_ in met if id_ in set(expected)] == expected
    assert len(set(met)) == len(met)


def test_the_newest_come_first_and_a_cursor_belongs_to_one_order(api, items):
    first = api.get("/v1/content", limit=3)
    assert first.body == api.get("/v1/content", limit=3, sort="-created").body
    assert api.get("/v1/content", cursor=first["nextCursor"], sort="-created").status == 200
    for sort in [one for one in SORTS if one != "title"]:
        cursor = api.get("/v1/content", limit=1, sort="title")["nextCursor"]
        assert api.get("/v1/content", cursor=cursor, sort=sort).status_and_param == (400, "cursor")


def test_the_longest_title_fits_into_a_cursor(api, account):
    for _ in range(2):
        factories.content(account, title="\U0001f600" * 500)
    cursor = api.get("/v1/content", limit=1, sort="title")["nextCursor"]
    assert len(api.get("/v1/content", cursor=cursor, sort="title")["data"]) == 1


def test_filtered_lists_are_sorted_and_both_spellings_of_in_share_a_cursor(api, items):
    cursor = api.get("/v1/content?title[in]=a,b&limit=1")["nextCursor"]
    assert api.get(f"/v1/content?title[in]=a&title[in]=b&limit=1&cursor={cursor}").status == 200
    Content.objects.filter(pk=items[4].pk).update(status="archived")
    reply = api.get("/v1/content?title=b&status=active&sort=-updated")
    assert [item["id"] for item in reply["data"]] == in_order([items[0], items[7]], "-updated")


def test_content_is_sorted_by_nothing_else(api):
    for sort in ["", "-", "+created", "--created", "createdAt", "Title", "id", "created,title"]:
        assert api.request("GET", "/v1/content", sort=sort).status_and_param == (400, "sort"), sort


@each_list()
def test_each_list_can_begin_with_the_oldest_and_refuses_other_orders(api, ids, endpoint):
    path = endpoint.filled(ids)[0]
    grow(api, ids, endpoint.path, 5)
    make_simultaneous(endpoint.path)
    newest_first = [identity(row) for row in api.get(path, limit=100)["data"]]
    assert walk(api, path, limit=2, sort="created")[0] == newest_first[::-1]

    assert api.get(endpoint.filled(ids)[0], sort="nothing").status_and_param == (400, "sort")
    view = endpoint.view
    if "title" not in view.initkwargs.get("pagination_class", view.cls.pagination_class).orders:
        assert api.get(endpoint.filled(ids)[0], sort="title").error["param"] == "sort"
