import pytest

from tests import factories
from tests.client import ApiClient


@pytest.fixture
def key(account):
    return factories.api_key(account, name="Leaked")


def test_a_revoked_key_is_returned_with_its_end_and_refused_at_once(api, key, clock):
    path, holder = f"/v1/api-keys/{key[0].pk}", ApiClient(key[1])
    before = api.get(path).body
    assert holder.get("/v1/content").status == 200
    ended = api.delete(path)
    assert (ended.status, ended["revokedAt"]) == (200, "2026-03-04T05:06:07.250000Z")
    assert ended.body == {**before, "revokedAt": ended["revokedAt"], "lastUsedAt": ended["lastUsedAt"]}
    reply = holder.get("/v1/content")
    assert reply.status_and_code == (401, "invalid_api_key")
    assert "revoked" in reply.error["message"]
    assert api.get("/v1/content").status == 200
    clock.advance(hours=1)
    again = api.delete(path)
    assert (again.status, again["revokedAt"]) == (200, ended["revokedAt"])


def test_a_key_can_revoke_itself(account, key):
    holder = ApiClient(key[1])
    assert holder.delete(f"/v1/api-keys/{key[0].pk}").status == 200
    assert holder.get("/v1/content").status == 401
