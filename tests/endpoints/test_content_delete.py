"""DELETE /v1/content/:id (docs/reference/api.md, Content)."""

import pytest

from tests import factories


@pytest.fixture
def item(account):
    return factories.content(account, external_id="a", source="https://example.com/a")


def test_the_reply_names_the_deleted_item(api, item):
    reply = api.delete(f"/v1/content/{item.pk}")
    assert (reply.status, reply.body) == (200, {"id": item.pk, "object": "content", "deleted": True})


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_a_deleted_item_is_not_found(api, item, method):
    api.delete(f"/v1/content/{item.pk}")
    reply = api.request(method, f"/v1/content/{item.pk}", {"title": "x"} if method == "PATCH" else None)
    assert (reply.status, reply.error["code"]) == (404, "resource_not_found")


def test_access_to_a_deleted_item_cannot_be_checked(api, item):
    api.delete(f"/v1/content/{item.pk}")
    for named in ({"externalId": "a"}, {"source": "https://example.com/a"}, {"contentId": item.pk}):
        assert api.post("/v1/access/check", {**named, "requester": "org"}).status == 404


def test_decisions_about_a_deleted_item_stay(api, item):
    decision = api.post("/v1/access/check", {"contentId": item.pk, "requester": "org"})
    api.delete(f"/v1/content/{item.pk}")
    assert api.get(f"/v1/access/decisions/{decision['id']}")["contentId"] == item.pk
    assert api.get("/v1/access/decisions", contentId=item.pk)["totalCount"] == 1
