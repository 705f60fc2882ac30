import base64

import pytest

from tests import factories
from tests.client import ApiClient
from tests.conventions.endpoints import each_list
from tests.conventions.listed import grow, identity, make_simultaneous, walk
from tests.conventions.replies import assert_parameter_refused


@each_list()
def test_each_list_is_walked_page_by_page(api, ids, endpoint):
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


@each_list()
def test_rows_added_between_two_pages_shift_nothing(api, ids, endpoint):
    path = endpoint.filled(ids)[0]
    grow(api, ids, endpoint.path, 5)
    before = [identity(row) for row in api.get(path, limit=100)["data"]]
    first = api.get(path, limit=2)
    grow(api, ids, endpoint.path, 3)
    rest = api.get(path, limit=100, cursor=first["nextCursor"])
    assert [identity(row) for row in first["data"] + rest["data"]] == before


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
