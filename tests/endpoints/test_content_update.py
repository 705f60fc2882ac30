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
    assert (reply["updated"], reply["created"]) == ("2030-01-01T00:00:00.000000Z", item["created"])
    assert api.patch(f"/v1/content/{item['id']}", {"status": "deleted"}).status_and_param == (422, "status")


def test_metadata_is_merged_key_by_key_within_its_bound(api, item, account):
    path = f"/v1/content/{item['id']}"
    assert api.patch(path, {"metadata": {}})["metadata"] == item["metadata"]
    change = {"author": "Grace", "edition": None, "wordCount": None, "pages": 13, "isbn": "978", "tags": ["new"]}
    reply = api.patch(path, {"metadata": change})
    assert reply["metadata"] == {
        "author": "Grace", "publishedAt": "2026-01-31", "category": "law", "tags": ["new"], "pages": 13,
        "score": 4.5, "peerReviewed": True, "isbn": "978",
    }  # fmt: skip
    assert reply["tags"] == item["tags"]
    path = f"/v1/content/{factories.content(account).pk}"
    api.patch(path, {"metadata": {f"key{n}": n for n in range(50)}})
    assert api.patch(path, {"metadata": {"one-more": 1}}).status_and_param == (422, "metadata")
    swapped = api.patch(path, {"metadata": {"one-more": 1, "key0": None}})
    assert (swapped.status, len(swapped["metadata"])) == (200, 50)


def test_bounds_hold_as_they_do_on_creation(api, item):
    for name, value, param in OUT_OF_BOUNDS:
        reply = api.patch(f"/v1/content/{item['id']}", {"source": "https://example.com/lost", name: value})
        assert (reply.status, reply.error["param"].rstrip(".")) == (422, param)
    assert without_times(api.get(f"/v1/content/{item['id']}").body) == without_times(item)


def test_an_item_can_be_sent_back_with_its_policy(api, item):
    path = f"/v1/content/{item['id']}"
    reply = api.patch(path, api.get(path, expand="policy").body)
    assert (reply.status, without_times(reply.body)) == (200, without_times(item))
    assert api.patch(path, {"externalId": item["externalId"]}).status == 200
    for status in ("archived", "archived", "active"):
        assert api.patch(path, {"status": status})["status"] == status


def test_a_policy_or_external_id_that_is_not_free_is_refused(api, item, other_account):
    path = f"/v1/content/{item['id']}"
    for policy_id in ("pol_" + "0" * 26, factories.policy(other_account).pk):
        reply = api.patch(path, {"policyId": policy_id})
        assert reply.status_and_param == (422, "policyId")
    api.post("/v1/content", {"title": "x", "externalId": "taken"})
    reply = api.patch(path, {"externalId": "taken", "title": "Lost"})
    assert reply.status_and_code == (409, "resource_already_exists")
    assert api.get(path)["title"] == item["title"]
