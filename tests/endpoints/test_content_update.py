"""PATCH /v1/content/:id (docs/reference/api.md)."""

import pytest

from tests import factories
from tests.endpoints.content_fields import FULL, OUT_OF_BOUNDS, without_times


@pytest.fixture
def item(api, account):
    policy = factories.policy(account)
    return api.post("/v1/content", {**FULL, "policyId": policy.pk}).body


@pytest.mark.parametrize(("name", "value"), [
    ("title", "Another"), ("externalId", "b-2"), ("type", "video"), ("source", "https://example.com/other"),
    ("policyId", None), ("tags", ["only"]), ("status", "archived"),
])  # fmt: skip
def test_a_field_is_changed_and_the_others_stay(api, item, name, value):
    reply = api.patch(f"/v1/content/{item['id']}", {name: value})
    assert reply.status == 200
    assert without_times(reply.body) == {**without_times(item), name: value}
    assert api.get(f"/v1/content/{item['id']}").body == reply.body


def test_updated_moves_and_created_stays(api, item, clock):
    clock.set("2030-01-01T00:00:00Z")
    reply = api.patch(f"/v1/content/{item['id']}", {"title": "Another"})
    assert reply["updated"] == "2030-01-01T00:00:00.000000Z"
    assert reply["created"] == item["created"]
    for name, empty in [("externalId", None), ("source", None), ("policyId", None), ("tags", []), ("metadata", {})]:
        reply = api.patch(f"/v1/content/{item['id']}", {name: None})
        assert (reply.status, reply[name]) == (200, empty)


def test_required_and_read_only_fields_cannot_be_changed_or_cleared(api, item):
    for name in ["title", "type", "status"]:
        reply = api.patch(f"/v1/content/{item['id']}", {name: None})
        assert (reply.status, reply.error["param"]) == (422, name)
    for name, value in [
        ("id", "cnt_" + "0" * 26),
        ("object", "book"),
        ("created", "1999-01-01"),
        ("stats", {"totalRequests": 9}),
    ]:
        path = f"/v1/content/{item['id']}"
        reply = api.patch(path, {"title": "Lost", name: value})
        assert (reply.status, reply.error["param"]) == (422, name)
        assert without_times(api.get(path).body) == without_times(item)
    reply = api.patch(f"/v1/content/{item['id']}", {"status": "deleted"})
    assert (reply.status, reply.error["param"]) == (422, "status")


def test_metadata_is_merged_key_by_key_within_its_bound(api, item, account):
    change = {"author": "Grace", "edition": None, "wordCount": None, "pages": 13, "isbn": "978"}
    reply = api.patch(f"/v1/content/{item['id']}", {"metadata": change})
    assert reply["metadata"] == {
        "author": "Grace", "publishedAt": "2026-01-31", "category": "law", "tags": ["inner"], "pages": 13,
        "score": 4.5, "peerReviewed": True, "isbn": "978",
    }  # fmt: skip
    item = factories.content(account)
    api.patch(f"/v1/content/{item.pk}", {"metadata": {f"key{n}": n for n in range(50)}})
    reply = api.patch(f"/v1/content/{item.pk}", {"metadata": {"one-more": 1}})
    assert (reply.status, reply.error["param"]) == (422, "metadata")
    swapped = api.patch(f"/v1/content/{item.pk}", {"metadata": {"one-more": 1, "key0": None}})
    assert (swapped.status, len(swapped["metadata"])) == (200, 50)


def test_metadata_is_merged_by_key(api, item):
    assert api.patch(f"/v1/content/{item['id']}", {"metadata": {}})["metadata"] == item["metadata"]
    reply = api.patch(f"/v1/content/{item['id']}", {"metadata": {"tags": ["new"]}})
    assert (reply["metadata"]["tags"], reply["tags"]) == (["new"], item["tags"])


def test_bounds_hold_as_they_do_on_creation(api, item):
    for name, value, param in OUT_OF_BOUNDS:
        reply = api.patch(f"/v1/content/{item['id']}", {"source": "https://example.com/lost", name: value})
        assert (reply.status, reply.error["param"].rstrip(".")) == (422, param)
    assert without_times(api.get(f"/v1/content/{item['id']}").body) == without_times(item)


def test_an_item_can_be_sent_back(api, item):
    read = api.get(f"/v1/content/{item['id']}", expand="policy").body
    reply = api.patch(f"/v1/content/{item['id']}", read)
    assert reply.status == 200
    assert without_times(reply.body) == without_times(item)
    reply = api.patch(f"/v1/content/{item['id']}", {})
    assert reply.status == 200
    assert without_times(reply.body) == without_times(item)
    assert api.patch(f"/v1/content/{item['id']}", {"externalId": item["externalId"]}).status == 200
    for status in ("archived", "archived", "active"):
        assert api.patch(f"/v1/content/{item['id']}", {"status": status})["status"] == status


def test_a_policy_or_external_id_that_is_not_free_is_refused(api, item, other_account):
    reply = api.patch(f"/v1/content/{item['id']}", {"policyId": "pol_" + "0" * 26})
    assert (reply.status, reply.error["param"]) == (422, "policyId")
    reply = api.patch(f"/v1/content/{item['id']}", {"policyId": factories.policy(other_account).pk})
    assert (reply.status, reply.error["param"]) == (422, "policyId")
    other = api.post("/v1/content", {"title": "x", "externalId": "taken"})
    reply = api.patch(f"/v1/content/{item['id']}", {"externalId": "taken", "title": "Lost"})
    assert (reply.status, reply.error["code"]) == (409, "resource_already_exists")
    assert api.get(f"/v1/content/{item['id']}")["title"] == item["title"]
    assert other["externalId"] == "taken"
