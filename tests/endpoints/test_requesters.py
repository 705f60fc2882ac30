"""/v1/requesters: customers in the API."""

from urllib.parse import quote

from accounts.models import AuditEntry
from licensing.requesters.models import Requester
from tests import factories

FIELDS = {"id", "object", "name", "email", "notes", "metadata", "created", "updated", "stats"}
NOBODY = {"allowed": 0, "denied": 0, "lastSeenAt": None}


def test_a_customer_can_be_created_before_its_first_check(api):
    reply = api.post(
        "/v1/requesters",
        {"id": "org_acme", "name": "Acme", "email": "ada@acme.example", "metadata": {"country": "DE", "seats": 25}},
    )
    assert reply.status == 201
    assert reply.body.keys() == FIELDS
    assert (reply["id"], reply["object"], reply["name"]) == ("org_acme", "requester", "Acme")
    assert (reply["metadata"], reply["notes"], reply["updated"]) == ({"country": "DE", "seats": 25}, None, None)
    assert reply["stats"] == NOBODY
    assert reply.headers["Location"] == "/v1/requesters/org_acme"
    assert api.get("/v1/requesters/org_acme").body == reply.body
    for id_ in ["org/acme", "a b&c=d", "Ärzte e. V.", "what?", "100%", "a/merge"]:
        created = api.post("/v1/requesters", {"id": id_})
        assert api.get(f"/v1/requesters/{quote(id_, safe='')}")["id"] == id_
        assert api.get(created.headers["Location"])["id"] == id_


def test_an_id_that_a_check_or_a_licence_created_is_a_conflict(api, account):
    item = factories.content(account)
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_seen"})
    factories.license(account, "org_held")
    for known in ("org_seen", "org_held"):
        reply = api.post("/v1/requesters", {"id": known})
        assert (reply.status, reply.error["code"], reply.error["param"]) == (409, "resource_already_exists", "id")


def test_stats_count_every_decision(api, account):
    """`stats` are exact at once, whichever path decided."""
    item = factories.content(account, policy_id=factories.policy(account).pk)
    body = {"contentId": item.pk, "requester": factories.LICENSED_REQUESTER}
    allowed = [api.post("/v1/access/check", body) for _ in range(2)]
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_stranger"})
    stats = api.get("/v1/requesters/org_acme")["stats"]
    assert stats == {"allowed": 2, "denied": 0, "lastSeenAt": allowed[-1]["created"]}
    assert api.get("/v1/requesters/org_stranger")["stats"]["denied"] == 1


def test_a_patch_merges_metadata_and_keeps_the_rest(api):
    api.post("/v1/requesters", {"id": "org", "name": "Org", "metadata": {"a": 1, "b": "x"}})
    reply = api.patch("/v1/requesters/org", {"metadata": {"a": None, "c": True}, "notes": "Call in May."})
    assert (reply.status, reply["metadata"]) == (200, {"b": "x", "c": True})
    assert (reply["name"], reply["notes"]) == ("Org", "Call in May.")
    assert reply["updated"] is not None


def test_a_patch_that_changes_nothing_writes_nothing(api):
    created = api.post("/v1/requesters", {"id": "org", "name": "Org", "metadata": {"a": 1}})
    before = AuditEntry.objects.count()
    reply = api.patch("/v1/requesters/org", {"name": "Org", "metadata": {"a": 1}})
    assert (reply.headers["ETag"], reply["updated"]) == (created.headers["ETag"], None)
    assert AuditEntry.objects.count() == before


def test_true_in_place_of_1_is_a_change(api):
    api.post("/v1/requesters", {"id": "org", "metadata": {"staff": 1}})
    assert api.patch("/v1/requesters/org", {"metadata": {"staff": True}})["metadata"]["staff"] is True
    assert api.get("/v1/requesters/org")["metadata"]["staff"] is True


def test_a_requester_can_be_sent_back_as_it_was_read(api):
    shown = api.post("/v1/requesters", {"id": "org", "name": "Org"}).body
    assert api.patch("/v1/requesters/org", shown).body == shown


def test_a_stale_tag_stops_a_change(api):
    tag = api.post("/v1/requesters", {"id": "org", "name": "Org"}).headers["ETag"]
    api.patch("/v1/requesters/org", {"name": "New"})
    reply = api.patch("/v1/requesters/org", {"name": "Newer"}, headers={"If-Match": tag})
    assert reply.status == 412
    assert api.get("/v1/requesters/org")["name"] == "New"


def test_a_decision_does_not_make_a_tag_stale(api, account):
    tag = api.post("/v1/requesters", {"id": "org"}).headers["ETag"]
    api.post("/v1/access/check", {"contentId": factories.content(account).pk, "requester": "org"})
    assert api.patch("/v1/requesters/org", {"name": "Org"}, headers={"If-Match": tag}).status == 200


def test_a_wrong_field_is_named(api):
    for body, param in [
        ({}, "id"),
        ({"id": ""}, "id"),
        ({"id": "a" * 256}, "id"),
        ({"id": "a", "email": "nobody"}, "email"),
        ({"id": "a", "email": f"{'a' * 250}@a.example"}, "email"),
        ({"id": "a", "name": "n" * 256}, "name"),
        ({"id": "a", "notes": "n" * 5_001}, "notes"),
        ({"id": "a", "metadata": {"key with spaces": 1}}, "metadata.key with spaces"),
        ({"id": "a", "metadata": {"k": "v" * 501}}, "metadata.k"),
        ({"id": "a", "metadata": {f"k{n}": n for n in range(51)}}, "metadata"),
        ({"id": "a", "licenseType": "x"}, "licenseType"),
    ]:
        reply = api.post("/v1/requesters", body)
        assert (reply.status, reply.error["param"]) == (422, param)
        assert not Requester.objects.filter(requester_id="a").exists()
    api.post("/v1/requesters", {"id": "org", "metadata": {f"k{n}": n for n in range(50)}})
    reply = api.patch("/v1/requesters/org", {"metadata": {"one.more": 1}})
    assert (reply.status, reply.error["param"]) == (422, "metadata")


def test_a_change_is_audited_and_known_to_the_next_check(api, account):
    api.post("/v1/requesters", {"id": "org_acme", "name": "Acme"})
    api.patch("/v1/requesters/org_acme", {"email": "ada@acme.example"})
    [changed, created] = api.get("/v1/audit?resourceType=requester&resourceId=org_acme")["data"]
    assert (created["action"], changed["action"]) == ("requester.created", "requester.updated")
    assert changed["changes"] == {"email": [None, "ada@acme.example"]}
    item = factories.content(account)
    api.post("/v1/access/check", {"contentId": item.pk, "requester": {"id": "org", "name": "Old"}})
    api.patch("/v1/requesters/org", {"name": "New"})
    assert api.post("/v1/access/check", {"contentId": item.pk, "requester": "org"})["requester"] == {
        "id": "org",
        "name": "New",
    }
