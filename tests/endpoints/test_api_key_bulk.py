from accounts.models import ApiKey
from tests import auditlog, factories
from tests.client import ApiClient
from tests.endpoints import bulk_rows
from tests.endpoints.bulk_rows import params

NEW = {"name": "x", "type": "secret"}
READER = {**NEW, "permissions": ["content:read"]}


def send(api, *rows, **options):
    return api.post("/v1/api-keys/bulk", {"items": list(rows)}, **options)


def statuses(reply):
    for one in reply["data"]:
        assert ("key" in (one["apiKey"] or {})) == (one["status"] == 201)
    return bulk_rows.statuses(reply)


def limited(account, **fields):
    """Return a client whose key may manage keys and read content."""
    return ApiClient(factories.key_text(account, permissions=["api_keys:manage", "content:read"], **fields))


def test_a_row_creates_or_changes_a_key_as_a_single_request_does(api):
    reply = send(api, READER, {**READER, "name": "y", "allowedIps": ["127.0.0.1"]})
    assert statuses(reply) == [201, 201]
    assert reply.headers["Cache-Control"] == "no-store"
    one, other = (row["apiKey"] for row in reply["data"])
    assert one["key"] != other["key"]
    for made in (one, other):
        assert ApiClient(made["key"]).get("/v1/content").status == 200
        assert ApiClient(made["key"]).get("/v1/policies").status == 403
        assert {**api.get(f"/v1/api-keys/{made['id']}").body, "key": made["key"], "lastUsedAt": None} == made
    key = api.post("/v1/api-keys", READER)["id"]
    reply = send(api, {"id": key, "name": "renamed", "allowedIps": ["10.0.0.0/8"]})
    assert statuses(reply) == [200]
    assert reply["data"][0]["apiKey"] == api.get(f"/v1/api-keys/{key}").body
    [changed] = reply["data"]
    assert (changed["apiKey"]["name"], changed["apiKey"]["allowedIps"]) == ("renamed", ["10.0.0.0/8"])


def test_a_row_fails_alone_with_the_error_of_a_single_request(api, account):
    for row, param in [
        ({}, "name"), ({"name": "x"}, "type"), ({**NEW, "permissions": ["all"]}, "permissions[0]"),
        ({**NEW, "type": "public", "permissions": ["content:read", "content:write"]}, "permissions[1]"),
        ({**NEW, "allowedIps": ["10.0.0.1/8"]}, "allowedIps[0]"), ({**NEW, "expiresAt": "2020-01-01"}, "expiresAt"),
        ({**NEW, "nonsense": 1}, "nonsense"), ({"id": "key_" + "0" * 26, "name": "y"}, "id"), ({"id": "x"}, "id"),
    ]:  # fmt: skip
        known = ApiKey.objects.count()
        reply = send(api, READER, row, NEW)
        assert (statuses(reply), params(reply)) == ([201, 422, 201], [None, param, None])
        assert ApiKey.objects.count() == known + 2
    sender = limited(account)
    rows = [{}, {"name": 1, "type": "x"}, NEW, {**READER, "expiresAt": "2020-01-01"}]
    alone = [sender.post("/v1/api-keys", row).error for row in rows]
    assert [one["error"] for one in send(sender, *rows)["data"]] == alone


def test_no_row_exceeds_the_key_that_sends_it(account, api):
    sender = limited(account, allowed_ips=["127.0.0.0/8"])
    rows = [NEW, READER, {**READER, "allowedIps": []}, {**READER, "permissions": ["content:write"]}]
    reply = send(sender, *rows)
    assert (statuses(reply), params(reply)) == ([403, 201, 403, 403], [None, None, "allowedIps", None])
    assert {one["error"]["code"] for one in reply["data"] if one["error"]} == {"insufficient_permissions"}
    assert reply["data"][1]["apiKey"]["allowedIps"] == ["127.0.0.0/8"]
    wide = api.post("/v1/api-keys", {**NEW, "allowedIps": ["10.0.0.0/8"]})["id"]
    assert statuses(send(limited(account), {"id": wide, "allowedIps": []})) == [403]
    assert api.get(f"/v1/api-keys/{wide}")["allowedIps"] == ["10.0.0.0/8"]


def test_a_row_that_narrows_the_sending_key_binds_those_after_it(account):
    key, text = factories.api_key(account)
    reply = send(ApiClient(text), {"id": key.pk, "allowedIps": ["127.0.0.1"]}, READER, {**READER, "allowedIps": []})
    assert (statuses(reply), params(reply)) == ([200, 201, 403], [None, None, "allowedIps"])
    assert reply["data"][1]["apiKey"]["allowedIps"] == ["127.0.0.1"]


def test_a_revoked_key_and_the_same_key_twice_are_conflicts(api, other_api):
    revoked, key = (api.post("/v1/api-keys", READER)["id"] for _ in range(2))
    api.delete(f"/v1/api-keys/{revoked}")
    reply = send(api, {"id": revoked, "name": "y"}, {"id": key, "name": "first"}, {"id": key, "name": "second"})
    assert statuses(reply) == [409, 200, 409]
    assert reply["data"][0]["error"]["code"] == "resource_revoked"
    assert api.get(f"/v1/api-keys/{key}")["name"] == "first"
    theirs = other_api.post("/v1/api-keys", READER)["id"]
    assert statuses(send(api, {"id": theirs, "name": "mine"})) == [422]
    assert other_api.get(f"/v1/api-keys/{theirs}")["name"] == "x"


def test_a_bound_holds_from_the_reply_on_and_is_audited(api):
    made = api.post("/v1/api-keys", READER).body
    assert ApiClient(made["key"]).get("/v1/content").status == 200
    send(api, {"id": made["id"], "allowedIps": ["10.0.0.0/8"]})
    assert ApiClient(made["key"]).get("/v1/content").error["code"] == "ip_not_allowed"
    key = api.post("/v1/api-keys", READER)["id"]
    known = len(auditlog.entries())
    reply = send(api, READER, {"id": key, "name": "y"}, {"id": key}, {"id": key, "name": "z"}, {})
    text = reply["data"][0]["apiKey"]["key"]
    created, updated = auditlog.entries()[known:]
    assert (created.action, updated.action) == ("api_key.created", "api_key.updated")
    assert updated.changes == {"name": ["x", "y"]}
    assert text[13:] not in str(created.changes)


def test_a_body_holds_1000_rows(api):
    assert statuses(send(api, *[NEW] * 1_000, headers={"Idempotency-Key": "k"})) == [201] * 1_000
