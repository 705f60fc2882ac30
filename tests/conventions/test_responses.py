"""Headers of every response, and replies for unknown endpoints (docs/reference/api.md)."""

import re
import time

import pytest

from tests import factories
from tests.client import ApiClient
from tests.conventions.endpoints import (
    ENDPOINTS,
    each_endpoint,
    each_endpoint_with_key,
    each_read,
    each_with_body,
)

RATE_LIMIT_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
POLICY = re.compile(r'"minute";q=\d+;w=60(, "day";q=\d+;w=86400)?').fullmatch

# A requester's own id may have slashes, and so end in "/merge": such a one can be read, changed and erased.
MERGE = "/v1/requesters/{requester}/merge"


def complete(reply):
    """Assert that a response has every header that docs/reference/api.md promises, and return True."""
    headers = dict(reply.headers)
    limit, remaining, reset = (int(headers[name]) for name in RATE_LIMIT_HEADERS)
    assert 0 <= remaining <= limit
    assert time.time() - 1 <= reset <= time.time() + 86_401
    assert re.fullmatch(rf'"(minute|day)";r={remaining};t=[1-9]\d*', headers["RateLimit"]), headers["RateLimit"]
    assert POLICY(headers["RateLimit-Policy"]), headers["RateLimit-Policy"]
    assert f";q={limit};" in headers["RateLimit-Policy"]
    assert headers["X-Request-Id"]
    assert headers["Content-Type"] == "application/json"
    return True


def is_error(reply, status, code):
    """Assert that a response is this error, with all of its headers and members, and return True."""
    assert reply.status == status, reply
    error = reply.error
    assert error["code"] == code
    assert set(reply.body) == {"error"}
    assert set(error) <= {"code", "message", "type", "docUrl", "param", "kind", "retryAfter", "errors"}
    assert error["docUrl"] == f"/docs/reference/errors/#{code}"
    assert error["message"]
    return complete(reply)


@each_endpoint()
def test_success_carries_the_headers(api, ids, endpoint):
    assert complete(endpoint.send(api, ids))


@each_endpoint_with_key()
def test_refusals_carry_the_headers(account, anonymous, ids, endpoint):
    assert is_error(endpoint.send(anonymous, ids), 401, "missing_api_key")
    assert is_error(endpoint.send(ApiClient("nonsense"), ids), 401, "invalid_api_key")
    if endpoint.permission:
        powerless = ApiClient(factories.key_text(account, permissions=[]))
        assert is_error(endpoint.send(powerless, ids), 403, "insufficient_permissions")
    elsewhere = ApiClient(factories.key_text(account, allowed_ips=["203.0.113.9"]))
    assert is_error(endpoint.send(elsewhere, ids), 403, "ip_not_allowed")


@each_endpoint()
def test_an_unknown_parameter_is_a_400_that_names_it(api, ids, endpoint):
    reply = endpoint.send(api, ids, unknown="1")
    assert is_error(reply, 400, "invalid_request")
    assert reply.error["param"] == "unknown"


@each_read()
def test_a_parameter_given_twice_is_a_400_that_names_it(api, ids, endpoint):
    path = endpoint.filled(ids)[0]
    for name in ("expand", "limit", "created[gte]"):
        reply = api.get(f"{path}?{name}=1&{name}=1")
        assert is_error(reply, 400, "invalid_request")
        assert reply.error["param"] == name


@each_endpoint()
def test_another_method_is_a_405_with_allow(api, ids, endpoint):
    allowed = {other.method for other in ENDPOINTS if other.path == endpoint.path}
    if endpoint.path == MERGE:
        allowed |= {"GET", "PATCH", "DELETE"}
    allowed |= {"HEAD"} if "GET" in allowed else set()
    for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"} - allowed:
        reply = api.request(method, endpoint.filled(ids)[0])
        assert reply.status == 405
        assert set(reply.headers["Allow"].split(", ")) == allowed
        if method != "HEAD":
            assert is_error(reply, 405, "method_not_allowed")
            assert reply.error["type"] == "invalid_request_error"


@each_endpoint()
def test_the_method_is_checked_before_the_key(anonymous, ids, endpoint):
    assert is_error(anonymous.request("PUT", endpoint.filled(ids)[0]), 405, "method_not_allowed")


@each_endpoint()
def test_a_trailing_slash_is_a_404_in_json(api, ids, endpoint):
    reply = api.request(endpoint.method, endpoint.filled(ids)[0] + "/")
    if endpoint.path == MERGE:
        assert is_error(reply, 405, "method_not_allowed")
    else:
        assert is_error(reply, 404, "resource_not_found")


@pytest.mark.parametrize(
    "path", ["/v1", "/v1/", "/v1/nothing", "/v1/content/a/b", "/v1/Content", "/v1//content", "/v1/policies//versions"]
)
def test_an_unknown_path_is_a_404_in_json(anonymous, path):
    for method in ("GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"):
        assert is_error(anonymous.request(method, path), 404, "resource_not_found")


@pytest.mark.parametrize("path", ["/v2/content", "/content", "/index.php"])
def test_what_is_outside_of_the_api_is_a_404_in_json_too(anonymous, path):
    reply = anonymous.get(path)
    assert (reply.status, reply.error["code"]) == (404, "resource_not_found")


@each_read()
def test_head_is_answered_as_get_without_the_body(api, ids, endpoint):
    path = endpoint.address(ids)
    head, get = api.request("HEAD", path), api.get(path)
    assert (head.status, head.content) == (200, b"")
    assert head.headers["Content-Type"] == get.headers["Content-Type"]
    assert all(name in head.headers for name in (*RATE_LIMIT_HEADERS, "RateLimit", "RateLimit-Policy", "X-Request-Id"))


@each_read()
def test_head_asks_for_the_same_permission(account, ids, endpoint):
    powerless = ApiClient(factories.key_text(account, permissions=[]))
    expected = 403 if endpoint.permission else 200
    assert powerless.request("HEAD", endpoint.filled(ids)[0]).status == expected


@each_with_body()
def test_malformed_bodies_carry_the_headers(api, ids, endpoint):
    assert is_error(endpoint.send(api, ids, json=b"{"), 400, "invalid_request")
    assert is_error(endpoint.send(api, ids, json=b'{"unknown": 1}'), 422, "invalid_request")
    assert is_error(endpoint.send(api, ids, json=b'"' + b"x" * 1024 * 1024 + b'"'), 413, "request_too_large")
    wrong = endpoint.send(api, ids, headers={"Content-Type": "text/plain"})
    assert is_error(wrong, 415, "unsupported_media_type")


@each_with_body()
def test_a_field_that_the_resource_does_not_have_is_a_422_that_names_it(api, ids, endpoint):
    for name in ("unknown", "non_field_errors", "detail", "[0]"):
        reply = endpoint.send(api, ids, json={**endpoint.body, name: 1})
        assert is_error(reply, 422, "invalid_request")
        assert reply.error["param"] == name


def test_a_key_of_the_metadata_is_named_whatever_it_is_called(api):
    reply = api.post("/v1/content", {"title": "x", "metadata": {"non_field_errors": []}})
    assert (reply.status, reply.error["param"]) == (422, "metadata.non_field_errors")


def test_a_host_that_is_not_served_is_a_400_in_json(api):
    reply = api.get("/v1/content", headers={"Host": "elsewhere.example"})
    assert is_error(reply, 400, "invalid_request")


@pytest.mark.parametrize("sent", ["a", "x" * 128, "!~[]{}", "018f-request"])
def test_the_callers_request_id_is_echoed(api, sent):
    for path in ("/v1/content", "/v1/nothing"):
        assert api.get(path, headers={"X-Request-Id": sent}).headers["X-Request-Id"] == sent


@pytest.mark.parametrize("sent", ["", "x" * 129, "a b", "é", "tab\there"])
def test_what_cannot_be_a_request_id_is_replaced(api, sent):
    given = api.get("/v1/content", headers={"X-Request-Id": sent}).headers["X-Request-Id"]
    assert given != sent
    assert 1 <= len(given) <= 128


def test_each_request_has_an_id_of_its_own(api):
    assert len({api.get("/v1/content").headers["X-Request-Id"] for _ in range(3)}) == 3


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/png", "*/*"])
def test_the_answer_is_json_whatever_is_accepted(api, accept):
    assert complete(api.get("/v1/content", headers={"Accept": accept}))
    assert is_error(api.get("/v1/content/x", headers={"Accept": accept}), 404, "resource_not_found")
