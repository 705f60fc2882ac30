from tests import factories
from tests.client import ApiClient
from tests.endpoints.key_fields import FIELDS


def test_keys_are_listed_and_read_without_their_text_also_when_revoked(api, account):
    made = [factories.api_key(account, name=f"Key {n}") for n in range(3)]
    api.delete(f"/v1/api-keys/{made[2][0].pk}")
    reply = api.get("/v1/api-keys")
    assert (reply.status, reply["object"], reply["totalCount"], reply["hasMore"]) == (200, "list", 4, False)
    assert [key["id"] for key in reply["data"][:3]] == [key.pk for key, _ in made[::-1]]
    assert [key["revokedAt"] is None for key in reply["data"]] == [False, True, True, True]
    assert all(set(key) == FIELDS for key in reply["data"])
    assert not any(text.encode() in reply.content for _, text in made)
    created = api.post("/v1/api-keys", {"name": "x", "type": "public", "allowedIps": ["10.0.0.0/8"]}).body
    del created["key"]
    assert api.get(f"/v1/api-keys/{created['id']}").body == created


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
