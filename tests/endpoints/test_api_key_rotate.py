import pytest

from tests import factories
from tests.client import ApiClient


@pytest.fixture
def old(account):
    return factories.api_key(account, name="Backend", permissions=["content:read"], allowed_ips=["127.0.0.0/8"])


@pytest.mark.parametrize("seconds", [1, 3600, 604_800])
def test_with_an_overlap_both_work_until_it_is_over(api, old, clock, seconds):
    reply = api.post(f"/v1/api-keys/{old[0].pk}/rotate", {"overlapSeconds": seconds})
    assert reply.status == 201
    clock.advance(seconds=seconds - 0.001)
    assert ApiClient(old[1]).get("/v1/content").status == 200
    clock.advance(seconds=0.001)
    expired = ApiClient(old[1]).get("/v1/content")
    assert expired.status_and_code == (401, "invalid_api_key")
    assert ApiClient(reply["key"]).get("/v1/content").status == 200


def test_an_overlap_never_prolongs_the_old_key(api, account, clock):
    key, _ = factories.api_key(account, expires_at=clock.now)
    clock.advance(seconds=-10)
    reply = api.post(f"/v1/api-keys/{key.pk}/rotate", {"overlapSeconds": 3600})
    assert reply["expiresAt"] == "2026-03-04T05:06:07.250000Z"
    assert api.get(f"/v1/api-keys/{key.pk}")["expiresAt"] == "2026-03-04T05:06:07.250000Z"


def test_the_new_key_has_the_same_grants_and_the_old_one_ends(api, old):
    for seconds in [-1, 604_801]:
        reply = api.post(f"/v1/api-keys/{old[0].pk}/rotate", {"overlapSeconds": seconds})
        assert reply.status_and_param == (422, "overlapSeconds")
    assert ApiClient(old[1]).get("/v1/content").status == 200
    reply = api.post(f"/v1/api-keys/{old[0].pk}/rotate", {})
    assert reply.status == 201
    assert reply["id"] != old[0].pk
    assert (reply["name"], reply["type"], reply["permissions"]) == ("Backend", "secret", ["content:read"])
    assert (reply["allowedIps"], reply["expiresAt"]) == (["127.0.0.0/8"], None)
    new = ApiClient(reply["key"])
    assert [new.get("/v1/content").status, new.get("/v1/policies").status] == [200, 403]
    assert ApiClient(old[1]).get("/v1/content").status == 401


def test_a_key_rotates_itself_but_no_key_with_more_permissions(account, old, api):
    wide, text = factories.api_key(account, permissions=["*"])
    narrow = ApiClient(factories.key_text(account, permissions=["api_keys:manage", "content:read"]))
    assert narrow.post(f"/v1/api-keys/{wide.pk}/rotate", {}).status == 403
    assert ApiClient(text).get("/v1/content").status == 200
    assert narrow.post(f"/v1/api-keys/{old[0].pk}/rotate", {}).status == 201
    key, text = factories.api_key(account)
    reply = ApiClient(text).post(f"/v1/api-keys/{key.pk}/rotate", {})
    assert reply.status == 201
    assert ApiClient(reply["key"]).get("/v1/content").status == 200
    api.delete(f"/v1/api-keys/{old[0].pk}")
    assert api.post(f"/v1/api-keys/{old[0].pk}/rotate", {}).status == 422
