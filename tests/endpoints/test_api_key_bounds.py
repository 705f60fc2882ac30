"""A key cannot create keys with a later expiry or other addresses (docs/reference/api.md, Keys)."""

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


def test_a_key_without_an_expiry_of_its_own_ends_with_the_key_that_created_it(short, end):
    reply = ApiClient(short[1]).post("/v1/api-keys", BODY)
    assert (reply.status, reply["expiresAt"]) == (201, render_timestamp(end))


@pytest.mark.parametrize("seconds", [1, 86_400, None])
def test_a_key_cannot_create_a_key_that_outlives_it(short, end, seconds):
    wanted = None if seconds is None else render_timestamp(end + timedelta(seconds=seconds))
    assert_beyond_key(ApiClient(short[1]).post("/v1/api-keys", {**BODY, "expiresAt": wanted}), "expiresAt")


@pytest.mark.parametrize("seconds", [0, -60])
def test_a_key_creates_one_that_ends_with_it_or_before(short, end, seconds):
    wanted = render_timestamp(end + timedelta(seconds=seconds))
    reply = ApiClient(short[1]).post("/v1/api-keys", {**BODY, "expiresAt": wanted})
    assert (reply.status, reply["expiresAt"]) == (201, wanted)


def test_a_key_without_addresses_of_its_own_has_those_of_the_key_that_created_it(narrow):
    reply = ApiClient(narrow[1]).post("/v1/api-keys", BODY)
    assert (reply.status, reply["allowedIps"]) == (201, narrow[0].allowed_ips)


@pytest.mark.parametrize(
    "addresses",
    [[], ["198.51.100.7"], ["0.0.0.0/0"], ["::/0"], ["127.0.0.1", "::1"], ["126.0.0.0/7"], ["10.0.0.0/23"]],
)
def test_a_key_cannot_create_a_key_for_other_addresses(narrow, addresses):
    assert_beyond_key(ApiClient(narrow[1]).post("/v1/api-keys", {**BODY, "allowedIps": addresses}), "allowedIps")


@pytest.mark.parametrize("addresses", [["127.0.0.1"], [HERE], ["127.1.0.0/16", "10.0.0.9"], ["10.0.0.0/24"]])
def test_a_key_creates_one_for_addresses_within_its_own(narrow, addresses):
    reply = ApiClient(narrow[1]).post("/v1/api-keys", {**BODY, "allowedIps": addresses})
    assert (reply.status, reply["allowedIps"]) == (201, addresses)


def test_a_key_cannot_rotate_a_key_that_outlives_it(account, short):
    lasting, text = factories.api_key(account)
    assert_beyond_key(ApiClient(short[1]).post(f"/v1/api-keys/{lasting.pk}/rotate", {}), "expiresAt")
    assert ApiClient(text).get("/v1/content").status == 200


def test_a_key_cannot_rotate_a_key_for_other_addresses(account, narrow):
    anywhere, text = factories.api_key(account)
    assert_beyond_key(ApiClient(narrow[1]).post(f"/v1/api-keys/{anywhere.pk}/rotate", {}), "allowedIps")
    assert ApiClient(text).get("/v1/content").status == 200


def test_a_bounded_key_rotates_itself(account, end):
    key, text = factories.api_key(account, expires_at=end, allowed_ips=[HERE])
    reply = ApiClient(text).post(f"/v1/api-keys/{key.pk}/rotate", {"overlapSeconds": 60})
    assert (reply.status, reply["expiresAt"], reply["allowedIps"]) == (201, render_timestamp(end), [HERE])


def test_a_rotated_key_cannot_create_a_key_that_outlives_its_overlap(api, account, clock):
    key, text = factories.api_key(account)
    api.post(f"/v1/api-keys/{key.pk}/rotate", {"overlapSeconds": 60})
    reply = ApiClient(text).post("/v1/api-keys", BODY)
    assert reply["expiresAt"] == render_timestamp(clock.now + timedelta(seconds=60))


@pytest.mark.parametrize("made_by", ["creation", "rotation"])
def test_no_replay_hands_out_a_key_that_outlives_the_one_that_asks(api, account, short, made_by):
    path = "/v1/api-keys" if made_by == "creation" else f"/v1/api-keys/{factories.api_key(account)[0].pk}/rotate"
    body = BODY if made_by == "creation" else {}
    made = api.post(path, body, headers=KEY)
    reply = ApiClient(short[1]).post(path, body, headers=KEY)
    assert_beyond_key(reply, "expiresAt")
    assert made["key"].encode() not in reply.content


def test_no_replay_hands_out_a_key_for_addresses_outside_those_of_the_one_that_asks(api, narrow):
    api.post("/v1/api-keys", BODY, headers=KEY)
    assert_beyond_key(ApiClient(narrow[1]).post("/v1/api-keys", BODY, headers=KEY), "allowedIps")


def test_a_key_that_rotated_itself_gets_the_lost_reply_again_within_the_overlap(account):
    """Otherwise a lost reply would lose the new key's text for good."""
    key, text = factories.api_key(account)
    path = f"/v1/api-keys/{key.pk}/rotate"
    first, again = (ApiClient(text).post(path, {"overlapSeconds": 60}, headers=KEY) for _ in range(2))
    assert (again.status, again.content) == (201, first.content)


@pytest.mark.parametrize("ends", ["revoked", "rotated"])
def test_a_key_that_ended_while_its_request_was_under_way_creates_nothing(account, ends):
    key, text = factories.api_key(account)
    grant = find_grant(text)
    services.revoke_api_key(key) if ends == "revoked" else services.rotate_api_key(key)
    with pytest.raises(InvalidApiKey):
        services.create_api_key(account.pk, name="x", type="secret", granted_by=grant)


def test_operators_and_commands_are_not_bound(account):
    key, _ = services.create_api_key(account.pk, name="x", type="secret")
    assert (key.allowed_ips, key.expires_at) == ([], None)
