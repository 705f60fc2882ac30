"""DELETE /v1/api-keys/:id (docs/reference/api.md, Keys)."""

import pytest

from tests import factories
from tests.client import ApiClient


@pytest.fixture
def key(account):
    return factories.api_key(account, name="Leaked")


def test_the_key_comes_back_with_the_time_of_its_end(api, key, clock):
    before = api.get(f"/v1/api-keys/{key[0].pk}").body
    reply = api.delete(f"/v1/api-keys/{key[0].pk}")
    assert reply.status == 200
    assert reply.body == {**before, "revokedAt": "2026-03-04T05:06:07.250000Z"}


def test_a_revoked_key_is_returned_with_its_end_and_refused_at_once(api, key, clock):
    holder = ApiClient(key[1])
    assert holder.get("/v1/content").status == 200
    api.delete(f"/v1/api-keys/{key[0].pk}")
    reply = holder.get("/v1/content")
    assert (reply.status, reply.error["code"]) == (401, "invalid_api_key")
    assert "revoked" in reply.error["message"]
    assert api.get("/v1/content").status == 200
    first = api.delete(f"/v1/api-keys/{key[0].pk}")
    clock.advance(hours=1)
    again = api.delete(f"/v1/api-keys/{key[0].pk}")
    assert (again.status, again["revokedAt"]) == (200, first["revokedAt"])


def test_a_key_can_revoke_itself(account, key):
    holder = ApiClient(key[1])
    assert holder.delete(f"/v1/api-keys/{key[0].pk}").status == 200
    assert holder.get("/v1/content").status == 401
