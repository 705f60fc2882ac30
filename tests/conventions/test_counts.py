from contextlib import contextmanager

import pytest

from kit.rest.lists import counting
from kit.storage.limited import TookTooLong
from tests import factories
from tests.conventions.endpoints import each_list
from tests.conventions.listed import grow


@contextmanager
def too_slow(monkeypatch):
    """Make every count time out."""
    with monkeypatch.context() as patch:
        patch.setattr(counting, "number_within", fail)
        yield


def fail(*_):
    raise TookTooLong


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
        reply = api.get(endpoint.filled(ids)[0], count=value)
        assert (reply.status, reply.error["param"]) == (400, "count"), value
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
