from datetime import timedelta

import orjson
from django.urls import get_resolver
from django.utils import timezone

from accounts.keys import keytext
from accounts.keys.permissions import PERMISSIONS
from tests import factories
from tests.client import ApiClient
from tests.conventions.endpoints import each_endpoint_with_key, each_endpoint_with_permission, routes
from tests.conventions.replies import assert_error


def assert_denied(reply, permission):
    """Assert that a response names the permission that the key lacks."""
    assert reply.status == 403, reply
    error = reply.error
    assert (error["code"], error["type"]) == ("insufficient_permissions", "authorization_error")
    assert permission in error["message"]
    assert "param" not in error


def stored(api):
    """Return the lists that a write could change."""
    return [api.get(path).body for path in ("/v1/content", "/v1/policies", "/v1/access/decisions")]


@each_endpoint_with_permission()
def test_each_endpoint_checks_its_permission_before_anything_else(api, account, ids, endpoint):
    before = stored(api)
    powerless = ApiClient(factories.key_text(account, permissions=[]))
    assert_error(endpoint.send(powerless, ids), 403, "insufficient_permissions")

    for missing in endpoint.permissions:
        holder = ApiClient(factories.key_text(account, permissions=sorted(set(PERMISSIONS) - {"*", missing})))
        assert_denied(endpoint.send(holder, ids), missing)
    assert_denied(endpoint.send(holder, ids, unknown="1"), missing)
    if endpoint.body is not None:
        for body in (b"", b"{", b'{"unknown": 1}', b"\xff", b'"' + b"x" * 1_100_000 + b'"'):
            assert_denied(endpoint.send(holder, ids, json=body), missing)
    if endpoint.names_a_resource:
        for unknown in ("no-id", "cnt_" + "0" * 26):
            assert_denied(endpoint.send(holder, dict.fromkeys(ids, unknown)), missing)

    assert stored(api) == before, "A refused request changed something."


def test_the_tables_of_a_viewset_name_its_actions_and_no_others():
    actions: dict = {}
    for path, callback in routes(get_resolver().url_patterns):
        if path.startswith("/v1/") and path != "/v1/openapi.json":
            actions.setdefault(callback.cls, set()).update(callback.actions.values())
    for viewset, known in actions.items():
        assert set(viewset.permissions_required) == known
        assert {*viewset.heavy, *viewset.exportable, *(viewset.listing - {"list"})} <= known


PROBLEM = "application/problem+json"
PREFERRING_PROBLEMS = [PROBLEM, f"{PROBLEM}, application/json;q=0.9", f"*/*, {PROBLEM}"]


def assert_refused(reply, code):
    """Assert that a response refuses the key with this code."""
    assert_error(reply, 401, code)
    assert reply.error["type"] == "authentication_error"


@each_endpoint_with_key()
def test_each_endpoint_refuses_missing_and_invalid_keys(api, account, anonymous, ids, endpoint):
    without_key = endpoint.send(anonymous, ids)
    assert_refused(without_key, "missing_api_key")
    assert without_key.headers["WWW-Authenticate"].startswith("Bearer")
    assert without_key.headers["Cache-Control"] in ("no-store", "private, no-cache")
    for accept in PREFERRING_PROBLEMS:
        assert_problem(endpoint.send(anonymous, ids, headers={"Accept": accept}), without_key.error)

    for unknown in ("nonsense", keytext.generate("secret")):
        assert_refused(endpoint.send(ApiClient(unknown), ids), "invalid_api_key")

    key, revoked = factories.api_key(account)
    api.delete(f"/v1/api-keys/{key.pk}")
    expired = factories.key_text(account, expires_at=timezone.now() - timedelta(hours=1))
    for text, reason in ((revoked, "revoked"), (expired, "expired")):
        reply = endpoint.send(ApiClient(text), ids)
        assert_refused(reply, "invalid_api_key")
        assert reason in reply.error["message"]

    elsewhere = ApiClient(factories.key_text(account, allowed_ips=["203.0.113.9"]))
    reply = endpoint.send(elsewhere, ids)
    assert_error(reply, 403, "ip_not_allowed")
    assert reply.error["type"] == "authorization_error"
    assert "127.0.0.1" in reply.error["message"]


def assert_problem(reply, envelope):
    """Assert that a reply is the refusal of a missing key as a problem (RFC 9457)."""
    assert (reply.status, reply.headers["Content-Type"]) == (401, PROBLEM)
    assert orjson.loads(reply.content) == {
        "type": "about:blank",
        "title": "Unauthorized",
        "status": 401,
        "detail": envelope["message"],
        "error": envelope,
    }


def test_a_key_expires_on_the_dot_and_a_revoked_one_is_refused_although_the_clock_goes_back(account, clock, api):
    holder = ApiClient(factories.key_text(account, expires_at=clock.now))
    clock.advance(microseconds=-1)
    assert holder.get("/v1/content").status == 200
    clock.advance(microseconds=1)
    assert holder.get("/v1/content").status == 401
    key, text = factories.api_key(account)
    api.delete(f"/v1/api-keys/{key.pk}")
    clock.advance(seconds=-5)
    assert_refused(ApiClient(text).get("/v1/content"), "invalid_api_key")


def test_only_a_bearer_header_carries_a_key(account, anonymous):
    text = factories.key_text(account)
    for header in ("", " ", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", f"Token {text}", text):
        assert_refused(anonymous.get("/v1/content", headers={"Authorization": header}), "missing_api_key")
    for parameter in ("api_key", "key", "access_token"):
        assert_refused(anonymous.get("/v1/content", **{parameter: text}), "missing_api_key")
    for scheme in ("Bearer", "bearer", "BEARER"):
        assert anonymous.get("/v1/content", headers={"Authorization": f"{scheme} {text}"}).status == 200, scheme


def test_a_mistyped_key_is_refused_without_a_query(account, django_assert_num_queries):
    text = factories.key_text(account)
    for mistyped in (
        text[:-1], text + "A", text.swapcase(), text[:10] + ("A" if text[10] != "A" else "B") + text[11:],
        text[:-1] + ("A" if text[-1] != "A" else "B"), text.replace("svc_sk_", "svc_pk_"),
        *("svc_sk_", "x", "x" * 5000, "svc_sk_é" + text[8:], f"{text} {text}"),
    ):  # fmt: skip
        with django_assert_num_queries(0):
            assert_refused(ApiClient(mistyped).get("/v1/content"), "invalid_api_key")
