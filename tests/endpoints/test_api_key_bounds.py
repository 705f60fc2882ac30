from datetime import timedelta

import pytest

from accounts.keys import services
from accounts.keys.authentication import find_grant
from kit.http.errors import InvalidApiKey
from kit.values.timestamps import render_timestamp
from tests import factories
from tests.client import ApiClient
from tests.endpoints.key_fields import assert_beyond_key

BODY = {"name": "x", "type": "secret"}
KEY = {"Idempotency-Key": "one-and-the-same"}
HERE = "127.0.0.0/8"


@pytest.fixture
def end(clock):
    return clock.now + timedelta(minutes=5)


@pytest.fixture
def short(account, end):
    """A key that expires in five minutes."""
    return factories.api_key(account, expires_at=end)


@pytest.fixture
def narrow(account):
    """A key that works only from this address."""
    return factories.api_key(account, allowed_ips=[HERE, "10.0.0.0/25", "10.0.0.128/25"])


def test_a_key_creates_only_keys_that_end_no_later(short, end, account):
    reply = ApiClient(short[1]).post("/v1/api-keys", BODY)
    assert (reply.status, reply["expiresAt"]) == (201, render_timestamp(end))
    for seconds in [1, 86_400, None]:
        wanted = None if seconds is None else render_timestamp(end + timedelta(seconds=seconds))
        assert_beyond_key(ApiClient(short[1]).post("/v1/api-keys", {**BODY, "expiresAt": wanted}), "expiresAt")
    for seconds in [0, -60]:
        wanted = render_timestamp(end + timedelta(seconds=seconds))
        reply = ApiClient(short[1]).post("/v1/api-keys", {**BODY, "expiresAt": wanted})
        assert (reply.status, reply["expiresAt"]) == (201, wanted)
    lasting, text = factories.api_key(account)
    assert_beyond_key(ApiClient(short[1]).post(f"/v1/api-keys/{lasting.pk}/rotate", {}), "expiresAt")
    assert ApiClient(text).get("/v1/content").status == 200


def test_a_key_creates_only_keys_for_its_own_addresses(narrow, account):
    reply = ApiClient(narrow[1]).post("/v1/api-keys", BODY)
    assert (reply.status, reply["allowedIps"]) == (201, narrow[0].allowed_ips)
    for addresses in [
        [], ["198.51.100.7"], ["0.0.0.0/0"], ["::/0"], ["127.0.0.1", "::1"], ["126.0.0.0/7"], ["10.0.0.0/23"],
    ]:  # fmt: skip
        assert_beyond_key(ApiClient(narrow[1]).post("/v1/api-keys", {**BODY, "allowedIps": addresses}), "allowedIps")
    for addresses in [["127.0.0.1"], [HERE], ["127.1.0.0/16", "10.0.0.9"], ["10.0.0.0/24"]]:
        reply = ApiClient(narrow[1]).post("/v1/api-keys", {**BODY, "allowedIps": addresses})
        assert (reply.status, reply["allowedIps"]) == (201, addresses)
    anywhere, text = factories.api_key(account)
    assert_beyond_key(ApiClient(narrow[1]).post(f"/v1/api-keys/{anywhere.pk}/rotate", {}), "allowedIps")
    assert ApiClient(text).get("/v1/content").status == 200


def test_a_key_rotates_itself_within_its_bounds_also_on_retry(account, end):
    key, text = factories.api_key(account, expires_at=end, allowed_ips=[HERE])
    reply = ApiClient(text).post(f"/v1/api-keys/{key.pk}/rotate", {"overlapSeconds": 60})
    assert (reply.status, reply["expiresAt"], reply["allowedIps"]) == (201, render_timestamp(end), [HERE])
    # Otherwise a lost reply would lose the new key's text for good.
    key, text = factories.api_key(account)
    path = f"/v1/api-keys/{key.pk}/rotate"
    first, again = (ApiClient(text).post(path, {"overlapSeconds": 60}, headers=KEY) for _ in range(2))
    assert (again.status, again.content) == (201, first.content)


def test_a_rotated_key_cannot_create_a_key_that_outlives_its_overlap(api, account, clock):
    key, text = factories.api_key(account)
    api.post(f"/v1/api-keys/{key.pk}/rotate", {"overlapSeconds": 60})
    reply = ApiClient(text).post("/v1/api-keys", BODY)
    assert reply["expiresAt"] == render_timestamp(clock.now + timedelta(seconds=60))
    key, _ = services.create_api_key(account.pk, name="x", type="secret")
    assert (key.allowed_ips, key.expires_at) == ([], None)


@pytest.mark.parametrize("made_by", ["creation", "rotation"])
def test_no_replay_hands_out_a_key_beyond_the_bounds_of_the_one_that_asks(api, account, short, narrow, made_by):
    path = "/v1/api-keys" if made_by == "creation" else f"/v1/api-keys/{factories.api_key(account)[0].pk}/rotate"
    body = BODY if made_by == "creation" else {}
    made = api.post(path, body, headers=KEY)
    for asking, param in ((short, "expiresAt"), (narrow, "allowedIps")):
        reply = ApiClient(asking[1]).post(path, body, headers=KEY)
        assert_beyond_key(reply, param)
        assert made["key"].encode() not in reply.content


@pytest.mark.parametrize("ends", ["revoked", "rotated"])
def test_a_key_that_ended_while_its_request_was_under_way_creates_nothing(account, ends):
    key, text = factories.api_key(account)
    grant = find_grant(text)
    services.revoke_api_key(key) if ends == "revoked" else services.rotate_api_key(key)
    with pytest.raises(InvalidApiKey):
        services.create_api_key(account.pk, name="x", type="secret", granted_by=grant)
