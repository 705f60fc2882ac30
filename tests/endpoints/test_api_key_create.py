import re

import pytest

from tests import factories
from tests.client import ApiClient
from tests.endpoints.content_fields import A_TIMESTAMP
from tests.endpoints.key_fields import FIELDS


@pytest.fixture
def create(api):
    return lambda **fields: api.post("/v1/api-keys", {"name": "Backend", "type": "secret", **fields})


def test_the_full_key_is_in_the_reply_and_works_at_once(create):
    reply = create()
    assert (reply.status, set(reply.body)) == (201, FIELDS | {"key"})
    assert re.fullmatch(r"key_[0-9a-z]{26}", reply["id"])
    assert re.fullmatch(r"svc_sk_[0-9A-Za-z]{28,}", reply["key"])
    assert reply["prefix"] == reply["key"][:13]
    assert A_TIMESTAMP(reply["createdAt"])
    assert (reply["name"], reply["type"], reply["permissions"]) == ("Backend", "secret", ["*"])
    assert (reply["allowedIps"], reply["expiresAt"], reply["lastUsedAt"], reply["revokedAt"]) == ([], None, None, None)
    assert ApiClient(reply["key"]).get("/v1/content").status == 200
    assert len({create()["key"] for _ in range(5)}) == 5


def test_a_public_key_can_only_read(create):
    reply = create(type="public")
    assert reply["key"].startswith("svc_pk_")
    assert reply["prefix"].startswith("svc_pk_")
    assert reply["permissions"] == ["content:read", "policies:read"]
    public = ApiClient(reply["key"])
    assert [public.get("/v1/content").status, public.get("/v1/policies").status] == [200, 200]
    assert public.post("/v1/content", {"title": "x"}).status == 403
    for permission in [
        "content:write", "policies:write", "access:check", "webhooks:manage", "api_keys:manage", "*", "licenses:write",
    ]:  # fmt: skip
        reply = create(type="public", permissions=["content:read", permission])
        assert reply.status_and_param == (422, "permissions[1]")
    assert create(type="public", permissions=["analytics:read"])["permissions"] == ["analytics:read"]


def test_a_key_has_the_given_permissions(account, create):
    reply = create(permissions=["content:read", "access:check"])
    assert reply["permissions"] == ["content:read", "access:check"]
    assert ApiClient(reply["key"]).get("/v1/policies").status == 403
    reply = create(permissions=[])
    assert (reply.status, reply["permissions"]) == (201, [])
    assert ApiClient(reply["key"]).get("/v1/content").status == 403
    narrow = ApiClient(factories.key_text(account, permissions=["api_keys:manage", "content:read"]))
    body = {"name": "x", "type": "secret"}
    assert narrow.post("/v1/api-keys", {**body, "permissions": ["content:read"]}).status == 201
    for permissions in (["content:read", "content:write"], ["*"]):
        reply = narrow.post("/v1/api-keys", {**body, "permissions": permissions})
        assert reply.status_and_code == (403, "insufficient_permissions")
    assert narrow.post("/v1/api-keys", body).status == 403  # a secret key's default is everything


def test_addresses_and_expiry_are_kept_in_their_normal_form(create):
    for sent, kept in [
        ("203.0.113.9", "203.0.113.9"), ("203.0.113.9/32", "203.0.113.9"), ("10.0.0.0/8", "10.0.0.0/8"),
        ("2001:DB8:0:0::1", "2001:db8::1"), ("2001:db8::/32", "2001:db8::/32"), ("::ffff:203.0.113.9", "203.0.113.9"),
        ("::ffff:203.0.113.0/120", "203.0.113.0/24"),
    ]:  # fmt: skip
        assert create(allowedIps=[sent])["allowedIps"] == [kept]
    for sent, kept in [
        ("2099-01-31T12:00:00Z", "2099-01-31T12:00:00.000000Z"), ("2099-01-31", "2099-01-31T00:00:00.000000Z"),
        ("2099-01-31T12:00:00.5+02:00", "2099-01-31T10:00:00.500000Z"), (None, None),
    ]:  # fmt: skip
        assert create(expiresAt=sent)["expiresAt"] == kept
    assert create(name="x" * 255).status == 201


def test_values_out_of_bounds_are_refused_by_name(create, api):
    """Values of other types are in tests/conventions/test_types.py."""
    for fields, param in [
        ({"name": ""}, "name"), ({"name": " "}, "name"), ({"name": None}, "name"), ({"name": "x" * 256}, "name"),
        ({"type": "private"}, "type"), ({"type": None}, "type"),
        ({"permissions": ["content:read", "content:delete"]}, "permissions[1]"),
        ({"allowedIps": ["10.0.0.1/8"]}, "allowedIps[0]"),
        ({"allowedIps": ["10.0.0.0/8", "2001:db8::1/32"]}, "allowedIps[1]"),
        ({"allowedIps": ["10.0.0.0/33"]}, "allowedIps[0]"), ({"allowedIps": ["example.com"]}, "allowedIps[0]"),
        ({"expiresAt": "2099-01-31T12:00:00"}, "expiresAt"), ({"expiresAt": "tomorrow"}, "expiresAt"),
    ]:  # fmt: skip
        reply = create(**fields)
        assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", param)
    assert api.get("/v1/api-keys")["totalCount"] == 1
    for body, param in [({"type": "secret"}, "name"), ({"name": "x"}, "type")]:
        assert api.post("/v1/api-keys", body).status_and_param == (422, param)


def test_a_key_that_would_never_work_is_refused(create, clock):
    clock.set("2026-03-04T12:00:00Z")
    for sent in ["2026-03-04T12:00:00Z", "2026-03-04T13:00:00+01:00", "2026-03-04", "2000-01-01"]:
        reply = create(expiresAt=sent)
        assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", "expiresAt")
    assert create(expiresAt="2026-03-04T12:00:01Z").status == 201
