"""Authentication (docs/reference/api.md)."""

import pytest

from accounts.keys import keytext
from tests import factories
from tests.client import ApiClient
from tests.conventions.endpoints import each_endpoint_with_key

TYPE = "authentication_error"


def refused(reply, code):
    """Assert that a response refuses the key with this code, and return True."""
    assert reply.status == 401, reply
    assert (reply.error["code"], reply.error["type"]) == (code, TYPE)
    return True


@each_endpoint_with_key()
def test_without_a_key_nothing_is_answered(anonymous, ids, endpoint):
    reply = endpoint.send(anonymous, ids)
    assert refused(reply, "missing_api_key")
    assert reply.headers["WWW-Authenticate"].startswith("Bearer")


@each_endpoint_with_key()
def test_an_unknown_key_is_refused(db, ids, endpoint):
    assert refused(endpoint.send(ApiClient(keytext.generate("secret")), ids), "invalid_api_key")


@each_endpoint_with_key()
def test_a_revoked_key_is_refused(api, account, ids, endpoint):
    key, text = factories.api_key(account)
    api.delete(f"/v1/api-keys/{key.pk}")
    reply = endpoint.send(ApiClient(text), ids)
    assert refused(reply, "invalid_api_key")
    assert "revoked" in reply.error["message"]


def test_a_key_is_revoked_whatever_the_time_says(api, account, clock):
    key, text = factories.api_key(account)
    api.delete(f"/v1/api-keys/{key.pk}")
    clock.advance(seconds=-5)
    assert refused(ApiClient(text).get("/v1/content"), "invalid_api_key")


@each_endpoint_with_key()
def test_an_expired_key_is_refused(account, ids, endpoint, clock):
    text = factories.key_text(account, expires_at=clock.now)
    reply = endpoint.send(ApiClient(text), ids)
    assert refused(reply, "invalid_api_key")
    assert "expired" in reply.error["message"]


def test_a_key_expires_on_the_dot(account, clock):
    holder = ApiClient(factories.key_text(account, expires_at=clock.now))
    clock.advance(microseconds=-1)
    assert holder.get("/v1/content").status == 200
    clock.advance(microseconds=1)
    assert holder.get("/v1/content").status == 401


@pytest.mark.parametrize("header", ["", " ", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "Token {key}", "{key}"])
def test_a_header_without_a_bearer_token_has_no_key(account, anonymous, header):
    header = header.format(key=factories.key_text(account))
    reply = anonymous.get("/v1/content", headers={"Authorization": header})
    assert refused(reply, "missing_api_key")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_may_be_written_in_any_case(account, anonymous, scheme):
    header = f"{scheme} {factories.key_text(account)}"
    assert anonymous.get("/v1/content", headers={"Authorization": header}).status == 200


@pytest.mark.parametrize("parameter", ["api_key", "key", "access_token"])
def test_a_key_in_the_query_is_no_key(account, anonymous, parameter):
    reply = anonymous.get("/v1/content", **{parameter: factories.key_text(account)})
    assert refused(reply, "missing_api_key")


def mistyped(text: str) -> list[str]:
    return [
        text[:-1],
        text + "A",
        text.swapcase(),
        text[:10] + ("A" if text[10] != "A" else "B") + text[11:],
        text[:-1] + ("A" if text[-1] != "A" else "B"),
        text.replace("svc_sk_", "svc_pk_"),
        "svc_sk_",
        "x",
        "x" * 5000,
        "svc_sk_é" + text[8:],
        f"{text} {text}",
    ]


@pytest.mark.parametrize("index", range(len(mistyped("svc_sk_" + "a" * 34))))
def test_a_mistyped_key_is_refused_without_a_query(account, index, django_assert_num_queries):
    holder = ApiClient(mistyped(factories.key_text(account))[index])
    with django_assert_num_queries(0):
        reply = holder.get("/v1/content")
    assert refused(reply, "invalid_api_key")
