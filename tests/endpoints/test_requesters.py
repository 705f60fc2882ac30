from urllib.parse import quote

from licensing.requesters.models import Requester
from tests import factories

FIELDS = {"id", "object", "name", "email", "notes", "metadata", "created", "updated", "stats"}


def test_a_customer_can_be_created_before_its_first_check(api):
    body = {"id": "org_acme", "name": "Acme", "email": "ada@acme.example", "metadata": {"country": "DE", "seats": 25}}
    reply = api.post("/v1/requesters", body)
    assert reply.status == 201
    assert body.items() <= reply.body.items()
    assert reply.body.keys() == FIELDS
    assert (reply["object"], reply["notes"], reply["updated"]) == ("requester", None, None)
    assert reply["stats"] == {"allowed": 0, "denied": 0, "lastSeenAt": None}
    assert reply.headers["Location"] == "/v1/requesters/org_acme"
    assert api.get("/v1/requesters/org_acme").body == reply.body
    for id_ in ["org/acme", "a b&c=d", "Ärzte e. V.", "what?", "100%", "a/merge"]:
        created = api.post("/v1/requesters", {"id": id_})
        assert api.get(f"/v1/requesters/{quote(id_, safe='')}")["id"] == id_
        assert api.get(created.headers["Location"])["id"] == id_


def test_an_id_that_a_check_or_a_licence_created_is_a_conflict(api, account, check):
    check(requester="org_seen")
    factories.license(account, "org_held")
    for known in ("org_seen", "org_held"):
        reply = api.post("/v1/requesters", {"id": known})
        assert (reply.status, reply.error["code"], reply.error["param"]) == (409, "resource_already_exists", "id")


def test_stats_count_every_decision(api, check):
    allowed = [check(requester=factories.LICENSED_REQUESTER) for _ in range(2)]
    check(requester="org_stranger")
    stats = api.get("/v1/requesters/org_acme")["stats"]
    assert stats == {"allowed": 2, "denied": 0, "lastSeenAt": allowed[-1]["created"]}
    assert api.get("/v1/requesters/org_stranger")["stats"]["denied"] == 1


def test_a_patch_merges_metadata_and_keeps_the_rest(api):
    api.post("/v1/requesters", {"id": "org", "name": "Org", "metadata": {"a": 1, "b": "x", "staff": 1}})
    change = {"a": None, "c": True, "staff": True}
    reply = api.patch("/v1/requesters/org", {"metadata": change, "notes": "Call in May."})
    assert (reply.status, reply["metadata"]) == (200, {"b": "x", "c": True, "staff": True})
    assert reply["metadata"]["staff"] is api.get("/v1/requesters/org")["metadata"]["staff"] is True
    assert (reply["name"], reply["notes"]) == ("Org", "Call in May.")
    assert reply["updated"] is not None


def test_a_decision_does_not_make_a_tag_stale(api, account):
    tag = api.post("/v1/requesters", {"id": "org"}).headers["ETag"]
    api.post("/v1/access/check", {"contentId": factories.content(account).pk, "requester": "org"})
    assert api.patch("/v1/requesters/org", {"name": "Org"}, headers={"If-Match": tag}).status == 200


def test_a_wrong_field_is_named(api):
    for body, param in [
        ({}, "id"), ({"id": ""}, "id"), ({"id": "a" * 256}, "id"), ({"id": "a", "email": "nobody"}, "email"),
        ({"id": "a", "email": f"{'a' * 250}@a.example"}, "email"), ({"id": "a", "name": "n" * 256}, "name"),
        ({"id": "a", "notes": "n" * 5_001}, "notes"), ({"id": "a", "metadata": {"k": "v" * 501}}, "metadata.k"),
        ({"id": "a", "metadata": {"key with spaces": 1}}, "metadata.key with spaces"),
        ({"id": "a", "metadata": {f"k{n}": n for n in range(51)}}, "metadata"),
    ]:  # fmt: skip
        reply = api.post("/v1/requesters", body)
        assert reply.status_and_param == (422, param)
    assert not Requester.objects.filter(requester_id="a").exists()
    api.post("/v1/requesters", {"id": "org", "metadata": {f"k{n}": n for n in range(50)}})
    assert api.patch("/v1/requesters/org", {"metadata": {"one.more": 1}}).status_and_param == (422, "metadata")
