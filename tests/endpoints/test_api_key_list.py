"""GET /v1/api-keys and GET /v1/api-keys/:id (docs/reference/api.md, Keys)."""

from tests import factories
from tests.client import ApiClient
from tests.endpoints.key_fields import FIELDS


def test_keys_are_read_without_their_text(api, account):
    made = [factories.api_key(account, name=f"Key {n}") for n in range(3)]
    reply = api.get("/v1/api-keys")
    assert (reply.status, reply["object"], reply["totalCount"], reply["hasMore"]) == (200, "list", 4, False)
    assert [key["id"] for key in reply["data"][:3]] == [key.pk for key, _ in made[::-1]]
    assert all(set(key) == FIELDS for key in reply["data"])
    assert not any(text.encode() in reply.content for _, text in made)
    created = api.post("/v1/api-keys", {"name": "x", "type": "public", "allowedIps": ["10.0.0.0/8"]}).body
    del created["key"]
    reply = api.get(f"/v1/api-keys/{created['id']}")
    assert (reply.status, reply.body) == (200, created)


def test_revoked_keys_stay_in_the_list(api, account):
    key, _ = factories.api_key(account)
    api.delete(f"/v1/api-keys/{key.pk}")
    assert api.get("/v1/api-keys")["data"][0]["revokedAt"] is not None


def test_last_used_is_kept_to_the_minute(api, account, clock):
    key, text = factories.api_key(account)

    def last_used():
        return api.get(f"/v1/api-keys/{key.pk}")["lastUsedAt"]

    assert last_used() is None
    ApiClient(text).get("/v1/content")
    first = last_used()
    assert first == "2026-03-04T05:06:07.250000Z"
    clock.advance(seconds=30)
    ApiClient(text).get("/v1/content")
    assert last_used() == first
    clock.advance(seconds=31)
    ApiClient(text).get("/v1/content")
    assert last_used() == "2026-03-04T05:07:08.250000Z"
