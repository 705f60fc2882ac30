import base64
from contextlib import contextmanager
from unittest.mock import Mock

import pytest

from kit.rest.lists import counting
from kit.storage.limited import TookTooLong
from tests import factories
from tests.client import ApiClient
from tests.conventions.endpoints import each_list
from tests.conventions.listed import grow, identity, make_simultaneous, walk
from tests.conventions.replies import assert_parameter_refused


@each_list()
def test_each_list_is_walked_page_by_page_also_while_it_grows(api, ids, endpoint):
    path = endpoint.filled(ids)[0]
    grow(api, ids, endpoint.path, 7)
    whole = [identity(row) for row in api.get(path, limit=100)["data"]]
    walked, pages = walk(api, path, limit=3)
    assert walked == whole
    assert len(set(walked)) == len(walked) >= 7
    assert [len(page["data"]) for page in pages[:-1]] == [3] * (len(pages) - 1)
    assert {page["totalCount"] for page in pages} == {len(whole)}

    total = api.get(path)["totalCount"]
    exact = api.get(path, limit=total)
    assert (exact["hasMore"], "nextCursor" in exact.body) == (False, False)
    short = api.get(path, limit=total - 1)
    assert (short["hasMore"], "nextCursor" in short.body) == (True, True)

    assert [api.get(path, limit=limit).status for limit in (1, 100)] == [200, 200]
    for limit in ("0", "101", "-1", "1.0", "ten", "", "1e1", "+5", " 5", "٣", "9" * 5000, "0x10"):
        reply = api.get(path, limit=limit)
        assert (limit, reply.status, reply.error["param"]) == (limit, 400, "limit")
    for text in ("", "x", "====", "MjAyNg==", "A" * 54, "é", "a b", "x" * 5000, base64.b64encode(b"\0" * 40).decode()):
        assert_cursor_refused(api.get(path, cursor=text))
    make_simultaneous(endpoint.path)
    assert walk(api, path, limit=2)[0] == whole
    assert len(set(whole)) >= 7
    first = api.get(path, limit=2)
    grow(api, ids, endpoint.path, 3)
    rest = api.get(path, limit=100, cursor=first["nextCursor"])
    assert [identity(row) for row in first["data"] + rest["data"]] == whole


@pytest.fixture
def cursor(api, ids):
    for _ in range(3):
        api.post("/v1/content", {"title": "x", "type": "image"})
    return api.get("/v1/content", limit=1)["nextCursor"]


def assert_cursor_refused(reply):
    assert_parameter_refused(reply, "cursor")


def test_a_changed_cursor_is_refused(api, cursor):
    for index in range(0, len(cursor) - 1, 5):
        changed = cursor[:index] + ("A" if cursor[index] != "A" else "B") + cursor[index + 1 :]
        assert_cursor_refused(api.get("/v1/content", cursor=changed))
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    neighbour = digits[digits.index(cursor[-1]) ^ 1]  # another value of bits that no byte of it uses
    for changed in (cursor[:-1] + neighbour, f"{cursor[:9]}.{cursor[9:]}", f"{cursor}=", f"{cursor}==", f"{cursor} "):
        assert_cursor_refused(api.get("/v1/content", cursor=changed))
    assert cursor.isascii()
    assert "cnt_" not in base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("latin1")


def test_a_cursor_belongs_to_its_account_list_and_filters(other_api, cursor, account, api):
    assert_cursor_refused(other_api.get("/v1/content", cursor=cursor))
    assert ApiClient(factories.key_text(account)).get("/v1/content", cursor=cursor).status == 200
    for path in ("/v1/policies", "/v1/access/decisions", "/v1/api-keys"):
        assert_cursor_refused(api.get(path, cursor=cursor))
    for query in ({"type": "image"}, {"status": "active"}, {"title": "x"}):
        assert_cursor_refused(api.get("/v1/content", cursor=cursor, **query))
    made = api.get("/v1/content", limit=1, type="image", status="active")["nextCursor"]
    assert api.get("/v1/content", cursor=made, status="active", type="image").status == 200
    assert_cursor_refused(api.get("/v1/content", cursor=made, type="image"))
    assert_cursor_refused(api.get("/v1/content", cursor=made, type="report", status="active"))


def test_limits_may_change_and_rows_may_go_between_pages(api, cursor):
    assert len(api.get("/v1/content", cursor=cursor, limit=2)["data"]) == 2
    walked, pages = walk(api, "/v1/content", limit=1, type="image")
    assert (len(walked), pages[0]["totalCount"]) == (3, 3)
    first = api.get("/v1/content", limit=1)["data"][0]
    api.delete(f"/v1/content/{first['id']}")
    assert api.get("/v1/content", cursor=cursor)["totalCount"] == 3


@contextmanager
def too_slow(monkeypatch):
    """Make every count time out."""
    with monkeypatch.context() as patch:
        patch.setattr(counting, "number_within", Mock(side_effect=TookTooLong))
        yield


@each_list()
def test_each_list_counts_exactly_or_not_at_all(api, ids, endpoint):
    path = endpoint.filled(ids)[0]
    grow(api, ids, endpoint.path, 5)
    whole = api.get(path, limit=100)
    for mode in ({}, {"count": "exact"}):
        first = api.get(path, limit=2, **mode)
        second = api.get(path, limit=2, cursor=first["nextCursor"], **mode)
        for page in (first, second):
            assert (page["totalCount"], "totalCountIsExact" in page.body) == (len(whole["data"]), False)

    counted, uncounted = api.get(path, limit=2), api.get(path, limit=2, count="none")
    assert "totalCount" not in uncounted.body
    assert uncounted["data"] == counted["data"]
    assert uncounted["hasMore"] is True
    for value in ("", "quick", "EXACT", "true", "0"):
        assert api.get(endpoint.filled(ids)[0], count=value).status_and_param == (400, "count"), value
    cursor = api.get(path, limit=2, count="none")["nextCursor"]
    assert api.get(path, limit=2, cursor=cursor, count="exact").status == 200


@pytest.mark.parametrize("mode", [{}, {"count": "exact"}])
def test_a_slow_count_is_estimated_and_the_page_stays_exact(api, account, monkeypatch, mode):
    items = [factories.content(account).pk for _ in range(5)]
    with too_slow(monkeypatch):
        first = api.get("/v1/content", limit=2, **mode)
        last = api.get("/v1/content", limit=3, cursor=first["nextCursor"], **mode)
    assert [row["id"] for page in (first, last) for row in page["data"]] == items[::-1]
    assert (first["hasMore"], last["hasMore"]) == (True, False)
    for page, known in ((first, 3), (last, 3)):
        assert page["totalCountIsExact"] is False
        assert page["totalCount"] >= known


def test_a_list_that_fits_on_its_first_page_is_exact_at_once(api, account, monkeypatch):
    for _ in range(3):
        factories.content(account)
    with too_slow(monkeypatch):
        page = api.get("/v1/content", limit=3)
    assert (page["totalCount"], "totalCountIsExact" in page.body) == (3, False)


def test_an_export_ignores_the_kind_of_count(api):
    for mode in ("none", "exact"):
        assert api.get("/v1/content", format="csv", count=mode).status == 200
    assert api.get("/v1/content", format="csv", count="some").error["param"] == "count"


def test_fields_choose_what_lists_resources_and_files_show(api: ApiClient):
    api.post("/v1/content", {"title": "Item", "tags": ["a"]})
    page = api.get("/v1/content?fields=title,tags")
    assert [sorted(one) for one in page["data"]] == [["id", "object", "tags", "title"]]
    assert page["totalCount"] == 1

    item = api.post("/v1/content", {"title": "Item"})
    sparse = api.get(f"/v1/content/{item['id']}?fields=status")
    assert sparse.body == {"id": item["id"], "object": "content", "status": "active"}
    assert sparse.headers["ETag"] == item.headers["ETag"]

    for name in ("a", "b"):
        api.post("/v1/policies", {"name": name})
    cursor = api.get("/v1/policies?limit=1&fields=name")["nextCursor"]
    rest = api.get(f"/v1/policies?limit=1&cursor={cursor}")
    assert [one["name"] for one in rest["data"]] == ["a"]
    file = api.get("/v1/access/decisions?format=csv&fields=allowed,license")
    assert file.content.decode().splitlines()[0].startswith('"id","allowed","license.id"')


def test_unknown_fields_are_named_and_reports_have_none(api: ApiClient):
    refused = api.get("/v1/policies?fields=name,colour")
    assert refused.status_and_param == (400, "fields")
    assert "'colour'" in refused.error["message"]
    assert api.get("/v1/analytics/usage?fields=summary").status == 400
