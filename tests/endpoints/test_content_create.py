import re
from typing import Any

from tests import factories
from tests.endpoints.content_fields import A_TIMESTAMP, FIELDS, FULL, OUT_OF_BOUNDS


def test_an_item_has_defaults_and_may_have_every_field(api, account):
    reply = api.post("/v1/content", {"title": "Alone"})
    assert (reply.status, set(reply.body)) == (201, FIELDS)
    created = reply.body
    assert re.fullmatch(r"cnt_[0-9a-z]{26}", created.pop("id"))
    assert A_TIMESTAMP(created["created"])
    assert created.pop("created") == created.pop("updated")
    assert created == {
        "object": "content", "externalId": None, "title": "Alone", "type": "article", "source": None, "policyId": None,
        "metadata": {}, "tags": [], "status": "active",
    }  # fmt: skip
    full = {**FULL, "policyId": factories.policy(account).pk}
    reply = api.post("/v1/content", full)
    assert (reply.status, {name: reply[name] for name in full}) == (201, full)
    assert api.get(f"/v1/content/{reply['id']}").body | {"stats": None} == reply.body | {"stats": None}


def test_values_within_bounds_are_stored(api):
    for content_type in ["article", "report", "image", "dataset", "video"]:
        assert api.post("/v1/content", {"title": "x", "type": content_type})["type"] == content_type
    for name in ["externalId", "source", "policyId", "metadata", "tags"]:
        reply = api.post("/v1/content", {"title": "x", name: None})
        assert reply.status == 201
        assert reply[name] == {"metadata": {}, "tags": []}.get(name)
    for name, value in WITHIN_BOUNDS:
        reply = api.post("/v1/content", {"title": "x", name: value})
        assert reply.status == 201
        assert reply[name] == value


WITHIN_BOUNDS: list[tuple[str, Any]] = [
    ("title", "x"), ("title", "x" * 500), ("title", "  kept as it is  "), ("title", "𝔘nicode — ünd \n mehr"),
    ("externalId", "x" * 255), ("source", "http://example.com"), ("source", "https://example.com/" + "x" * 2028),
    ("tags", ["x"] * 50), ("tags", ["x" * 100]), ("metadata", {"author": "x" * 255, "category": "y" * 255}),
    ("metadata", {"wordCount": 0}), ("metadata", {"wordCount": 2_147_483_647}),
    ("metadata", {"publishedAt": "2024-02-29"}), ("metadata", {"tags": ["x" * 100] * 50}),
    ("metadata", {f"key{n}": n for n in range(50)}), ("metadata", {"A-z_0.9": "x" * 500}),
    ("metadata", {"k" * 64: -1.5}),
]  # fmt: skip


def test_values_out_of_bounds_are_refused_by_name(api):
    for name, value, param in OUT_OF_BOUNDS:
        reply = api.post("/v1/content", {"title": "x", name: value})
        assert reply.status == 422
        assert reply.error["param"].rstrip(".") == param
    assert api.get("/v1/content")["totalCount"] == 0
    reply = api.post("/v1/content", {"type": "article"})
    assert (reply.status, reply.error["code"], reply.error["type"]) == (422, "invalid_request", "validation_error")
    assert reply.error["param"] == "title"


def test_a_policy_must_exist_in_the_account(api, other_account, account):
    deleted = factories.policy(account).pk
    api.delete(f"/v1/policies/{deleted}")
    theirs = factories.policy(other_account).pk
    for policy_id in ["pol_" + "0" * 26, "pol_nonsense", "cnt_" + "0" * 26, "", theirs, deleted]:
        assert api.post("/v1/content", {"title": "x", "policyId": policy_id}).status_and_param == (422, "policyId")


def test_an_external_id_is_unique_among_the_items_of_an_account(api, other_api):
    first = api.post("/v1/content", {"title": "first", "externalId": "a"})
    reply = api.post("/v1/content", {"title": "second", "externalId": "a"})
    assert reply.status == 409
    assert (reply.error["code"], reply.error["type"]) == ("resource_already_exists", "conflict_error")
    assert api.get("/v1/content")["totalCount"] == 1
    assert other_api.post("/v1/content", {"title": "x", "externalId": "a"}).status == 201
    api.delete(f"/v1/content/{first['id']}")
    assert api.post("/v1/content", {"title": "second", "externalId": "a"}).status == 201
    made = [api.post("/v1/content", {"title": "x"})["id"] for _ in range(5)]
    assert made == sorted(made)


def test_an_item_may_be_created_archived(api):
    made = api.post("/v1/content", {"title": "x", "status": "archived"})
    assert api.get(f"/v1/content/{made['id']}")["status"] == made["status"] == "archived"
    checked = api.post("/v1/access/check", {"contentId": made["id"], "requester": "org_acme"})
    assert (checked["allowed"], checked["reason"]) == (False, "content_archived")
    assert api.post("/v1/content", {"title": "x", "status": "active"})["status"] == "active"
    assert api.post("/v1/content", {"title": "x", "status": "deleted"}).error["param"] == "status"
