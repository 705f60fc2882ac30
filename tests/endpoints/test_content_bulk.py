import json

import pytest
from django.db import IntegrityError

from licensing.content import bulk
from licensing.content.models import Content
from tests import auditlog, factories
from tests.endpoints.bulk_rows import params, statuses
from tests.endpoints.content_fields import FIELDS

FULL = {
    "externalId": "a-1", "title": "Alpha", "type": "image", "source": "https://example.com/a",
    "metadata": {"author": "Ada", "wordCount": 3, "edition": "late"}, "tags": ["x"],
}  # fmt: skip


def send(api, *rows, **options):
    return api.post("/v1/content/bulk", {"items": list(rows)}, **options)


def test_a_row_creates_an_item_as_a_post_does(api, other_api):
    [made] = send(api, FULL)["data"]
    own = {"id", "created", "updated"}
    in_bulk, alone = (
        {name: value for name, value in item.items() if name not in own}
        for item in (made["content"], other_api.post("/v1/content", FULL).body)
    )
    assert (in_bulk, set(made["content"])) == (alone, FIELDS)
    assert api.get("/v1/content")["data"] == [made["content"]]


def test_a_row_with_an_id_updates_as_a_patch_does_and_is_audited(api):
    item = api.post("/v1/content", FULL).body
    reply = send(api, {"id": item["id"], "metadata": {"author": None, "x": 1}, "tags": ["y"], "status": "archived"})
    assert statuses(reply) == [200]
    changed = api.get(f"/v1/content/{item['id']}").body
    changed.pop("stats")
    assert reply["data"][0]["content"] == changed
    assert changed["metadata"] == {"wordCount": 3, "edition": "late", "x": 1}
    assert (changed["title"], changed["tags"], changed["status"]) == ("Alpha", ["y"], "archived")
    assert changed["updated"] > item["updated"]


def test_a_row_with_an_external_id_that_exists_updates_that_item(api):
    item = api.post("/v1/content", FULL).body
    reply = send(api, {"externalId": "a-1", "title": "Beta", "source": None}, {"externalId": "a-2", "title": "New"})
    assert statuses(reply) == [200, 201]
    changed = reply["data"][0]["content"]
    assert (changed["id"], changed["title"], changed["source"]) == (item["id"], "Beta", None)
    assert api.get("/v1/content")["totalCount"] == 2


def test_an_archived_row_creates_an_archived_item_and_changes_nothing_when_sent_again(api, account):
    policy = factories.policy(account, default_action="allow")
    row = {"externalId": "a-1", "title": "Old", "status": "archived", "policyId": policy.pk}
    made = send(api, row)
    assert (statuses(made), made["data"][0]["content"]["status"]) == ([201], "archived")
    again = send(api, row)
    assert (statuses(again), again["data"][0]["content"]) == ([200], made["data"][0]["content"])
    events = api.get("/v1/events", objectId=made["data"][0]["content"]["id"])["data"]
    assert [(one["type"], one["data"]["status"]) for one in events] == [("content.created", "archived")]
    checked = api.post("/v1/access/check", {"externalId": "a-1", "requester": "org_acme"})
    assert (checked["allowed"], checked["reason"]) == (False, "content_archived")


def test_the_same_rows_again_make_no_duplicate_and_change_nothing(api):
    rows = [{**FULL, "externalId": f"a-{n}"} for n in range(30)]
    first, again = send(api, *rows), send(api, *rows)
    assert (statuses(first), statuses(again)) == ([201] * 30, [200] * 30)
    assert [one["content"] for one in again["data"]] == [one["content"] for one in first["data"]]
    assert Content.objects.count() == 30


@pytest.mark.parametrize(("row", "param"), [
    ({}, "title"), ({"title": ""}, "title"), ({"title": None}, "title"), ({"title": "x", "type": "book"}, "type"),
    ({"title": "x", "nonsense": 1}, "nonsense"), ({"title": "x", "policyId": "pol_" + "0" * 26}, "policyId"),
    ({"title": "x", "policyId": "x"}, "policyId"), ({"title": "x", "tags": ["a", 1]}, "tags[1]"),
    ({"title": "x", "metadata": {"wordCount": "many"}}, "metadata.wordCount"),
    ({"title": "x", "metadata": {f"k{n}": n for n in range(51)}}, "metadata"),
    ({"id": "cnt_" + "0" * 26, "title": "x"}, "id"), ({"id": "x", "title": "x"}, "id"),
    ({"id": 7, "title": "x"}, "id"),
])  # fmt: skip
def test_a_row_fails_alone_with_the_error_of_a_single_request(api, row, param):
    reply = send(api, {"title": "Before"}, row, {"title": "After"})
    assert statuses(reply) == [201, 422, 201]
    error = reply["data"][1]["error"]
    assert (error["code"], error["type"], error["param"]) == ("invalid_request", "validation_error", param)
    assert sorted(Content.objects.values_list("title", flat=True)) == ["After", "Before"]
    if "id" not in row:
        assert error == api.post("/v1/content", row).error


def test_the_same_item_twice_is_a_conflict_of_the_later_row(api):
    item = api.post("/v1/content", {"title": "x", "externalId": "known"}).body
    rows = [
        {"externalId": "new", "title": "first"},
        {"externalId": "new", "title": "second"},
        {"id": item["id"], "title": "by id"},
        {"externalId": "known", "title": "by externalId"},
        {"id": item["id"], "title": "by id again"},
    ]
    reply = send(api, *rows)
    assert statuses(reply) == [201, 409, 200, 409, 409]
    assert params(reply) == [None, "externalId", None, "externalId", "id"]
    assert {one["error"]["code"] for one in reply["data"] if one["error"]} == {"resource_already_exists"}
    assert set(Content.objects.values_list("title", flat=True)) == {"first", "by id"}
    item = api.post("/v1/content", {"title": "x"})
    many = {f"k{n}": n for n in range(51)}
    rows = [{"id": item["id"], "title": "bad", "metadata": many}, {"id": item["id"], "tags": ["y"]}]
    reply = send(api, *rows, {"externalId": "e", "type": "image"}, {"externalId": "e", "title": "good"})
    assert statuses(reply) == [422, 200, 422, 201]
    assert api.get(f"/v1/content/{item['id']}")["title"] == "x"


def test_an_external_id_that_one_row_gives_up_the_next_may_take(api):
    ids = [api.post("/v1/content", {"title": name, "externalId": name})["id"] for name in ("a", "b", "c")]
    reply = send(api, {"id": ids[0], "externalId": "b"}, {"title": "x"})
    assert (statuses(reply), params(reply)) == ([409, 201], ["externalId", None])
    in_the_wrong_order = [{"id": ids[0], "externalId": "c"}, {"id": ids[2], "externalId": "d"}]
    assert statuses(send(api, *in_the_wrong_order)) == [409, 200]
    rows = [{"id": ids[1], "externalId": "c"}, {"id": ids[0], "externalId": "b"}, {"externalId": "a", "title": "new"}]
    assert statuses(send(api, *rows)) == [200, 200, 201]
    found = dict(Content.objects.exclude(external_id=None).values_list("external_id", "title"))
    assert found == {"a": "new", "b": "a", "c": "b", "d": "c"}


def test_items_of_others_and_deleted_ones_are_out_of_reach(api, other_api):
    theirs = other_api.post("/v1/content", {"title": "theirs", "externalId": "a"}).body
    policy = other_api.post("/v1/policies", {"name": "theirs"})["id"]
    deleted = api.post("/v1/content", {"title": "x", "externalId": "a"})["id"]
    api.delete(f"/v1/content/{deleted}")
    rows = [
        {"id": theirs["id"], "title": "mine"}, {"externalId": "a", "title": "mine"},
        {"title": "x", "policyId": policy}, {"id": deleted, "title": "y"},
    ]  # fmt: skip
    reply = send(api, *rows)
    assert statuses(reply) == [422, 201, 422, 422]
    assert reply["data"][1]["content"]["id"] != deleted
    assert other_api.get(f"/v1/content/{theirs['id']}")["title"] == "theirs"


def test_a_body_holds_rows_up_to_1_mib(api):
    def body(size):
        rows = [{"title": "x" * 500, "metadata": {"k1": "y" * 500, "k2": ""}} for _ in range(900)]
        raw = json.dumps({"items": rows}).encode()
        return raw + b" " * (size - len(raw))

    assert statuses(api.post("/v1/content/bulk", body(1024 * 1024), headers={"Idempotency-Key": "k"})) == [201] * 900
    assert api.post("/v1/content/bulk", body(1024 * 1024 + 1)).status == 413
    assert api.post("/v1/content/bulk", {"items": [{"title": "x"}], "more": 1}).error["param"] == "more"


def test_each_row_that_changes_something_leaves_an_audit_entry(api):
    api.post("/v1/content", FULL)
    begun = len(auditlog.entries())
    send(api, FULL, {"externalId": "a-1", "title": "twice"}, {"title": "new"}, {"title": ""})
    [entry] = auditlog.entries()[begun:]
    assert (entry.action, entry.resource_title) == ("content.created", "new")
    send(api, {**FULL, "title": "changed"})
    entry = auditlog.entries()[-1]
    assert (entry.action, entry.changes) == ("content.updated", {"title": ["Alpha", "changed"]})


def test_an_item_created_concurrently_is_found_by_the_next_attempt(api, account, monkeypatch):
    write, calls = bulk.write_items, []

    def late(items):
        calls.append(len(items))
        if len(calls) == 1:
            raise IntegrityError("external_id_is_unique")
        write(items)

    monkeypatch.setattr(bulk, "write_items", late)
    assert statuses(send(api, FULL, {"title": "x"})) == [201, 201]
    assert (calls, Content.objects.count(), len(auditlog.entries(action="content.created"))) == ([2, 2], 2, 2)
