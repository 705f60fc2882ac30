import logging
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from accounts.keys import keytext
from kit.values.timestamps import render_timestamp
from tests import factories
from tests.client import ApiClient
from tests.stored import everything_stored

FIND = "/v1/api-keys/find"
UNKNOWN = "svc_sk_" + "1" * 28
UNKNOWN += keytext.checksum(UNKNOWN)


@pytest.fixture
def leaked(account):
    return factories.api_key(account, name="Backend", permissions=["content:read"])


def secret_part(text):
    return text[keytext.PREFIX_CHARACTERS :]


def test_a_key_is_found_by_its_full_text_which_is_not_repeated(api, leaked):
    key, text = leaked
    reply, read = api.post(FIND, {"key": text}), api.get(f"/v1/api-keys/{key.pk}")
    assert (reply.status, reply.body, reply.headers["ETag"]) == (200, read.body, read.headers["ETag"])
    assert secret_part(text).encode() not in reply.content
    assert reply.headers["Cache-Control"] == "no-store"
    api.patch(f"/v1/api-keys/{key.pk}", {"name": "Renamed"})
    assert api.delete(f"/v1/api-keys/{key.pk}", headers={"If-Match": reply.headers["ETag"]}).status == 412


def test_a_key_that_has_ended_is_found_with_its_state(api, leaked, clock):
    key, text = leaked
    end = render_timestamp(timezone.now() + timedelta(hours=1))
    api.patch(f"/v1/api-keys/{key.pk}", {"expiresAt": end})
    clock.advance(hours=2)
    assert (api.post(FIND, {"key": text})["expiresAt"], ApiClient(text).get("/v1/content").status) == (end, 401)
    api.delete(f"/v1/api-keys/{key.pk}")
    assert api.post(FIND, {"key": text})["revokedAt"] is not None


def test_only_texts_of_keys_of_the_account_are_found(api, other_api, leaked, account):
    for text in ["svc_sk_", "x", "svc_sk_" + "0" * 34, "é", UNKNOWN, factories.license_client(account)[1]]:
        reply = api.post(FIND, {"key": text})
        assert reply.status_and_code == (404, "resource_not_found")
        assert reply.error["message"] == "There is no API key with this text."
    assert other_api.post(FIND, {"key": leaked[1]}).status == 404
    for body in [{}, {"key": ""}, {"key": "x" * 256}]:
        assert api.post(FIND, body).status_and_param == (422, "key")


def test_it_is_counted_as_any_request(account, leaked, clock):
    account.requests_per_minute = 2
    account.plan = "enterprise"
    account.save()
    client = ApiClient(factories.key_text(account))
    assert [client.post(FIND, {"key": leaked[1]}).status for _ in range(3)] == [200, 200, 429]


def test_the_text_is_neither_stored_nor_logged(api, leaked, caplog):
    caplog.set_level(logging.DEBUG)
    connection.force_debug_cursor = True
    try:
        for text in (leaked[1], UNKNOWN):
            api.post(FIND, {"key": text})
            api.post(FIND, {"key": text}, headers={"Idempotency-Key": text[-10:]})
    finally:
        connection.force_debug_cursor = False
    stored = everything_stored()
    for text in (leaked[1], UNKNOWN):
        assert secret_part(text).encode() not in stored
        assert secret_part(text) not in caplog.text
