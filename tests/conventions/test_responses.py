import re

import pytest

from tests import factories
from tests.client import ApiClient
from tests.conventions.endpoints import ENDPOINTS, each_endpoint, each_read, each_with_body
from tests.conventions.replies import RATE_LIMIT_HEADERS, assert_error, assert_has_all_headers

# A requester's own id may have slashes, and so end like these paths: such a one can be read, changed and erased.
BELOW_REQUESTERS = ("/v1/requesters/{requester}/merge", "/v1/requesters/{requester}/portal-sessions")
METHODS_BY_PATH = {
    path: {endpoint.method for endpoint in ENDPOINTS if endpoint.path == path}
    for path in dict.fromkeys(endpoint.path for endpoint in ENDPOINTS)
}


@each_endpoint()
def test_an_unknown_or_repeated_parameter_is_a_400_that_names_it(api, ids, endpoint):
    reply = endpoint.send(api, ids, zzzz="1")
    assert_error(reply, 400, "invalid_request", "zzzz")
    assert reply.error["kind"] == "unknown"
    assert "Did you mean" not in reply.error["message"]
    if endpoint.method == "GET":
        for name in ("expand", "limit", "created[gte]"):
            reply = api.get(f"{endpoint.filled(ids)[0]}?{name}=1&{name}=1")
            assert_error(reply, 400, "invalid_request", name)


def with_head(methods):
    return methods | {"HEAD"} if "GET" in methods else methods


@pytest.mark.parametrize("path", METHODS_BY_PATH)
def test_each_path_answers_other_methods_and_a_trailing_slash(api, anonymous, ids, path):
    methods = METHODS_BY_PATH[path]
    address = path.format_map(ids)

    options = anonymous.request("OPTIONS", address)
    assert (options.status, options.content) == (204, b"")
    assert set(options.headers["Allow"].split(", ")) == with_head(methods)
    assert "X-RateLimit-Limit" in options.headers
    patch_types = "application/json, application/merge-patch+json" if "PATCH" in methods else None
    assert options.headers.get("Accept-Patch") == patch_types

    allowed = with_head(methods | {"GET", "PATCH", "DELETE"} if path in BELOW_REQUESTERS else methods)
    for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"} - allowed:
        reply = api.request(method, address)
        assert reply.status == 405, method
        assert set(reply.headers["Allow"].split(", ")) == allowed, method
        if method != "HEAD":
            assert_error(reply, 405, "method_not_allowed")
            assert reply.error["type"] == "invalid_request_error"
    assert_error(anonymous.request("PUT", address), 405, "method_not_allowed")  # the method comes before the key

    for method in methods:
        reply = api.request(method, f"{address}/")
        if path in BELOW_REQUESTERS:
            assert_error(reply, 405, "method_not_allowed")
        else:
            assert_error(reply, 404, "resource_not_found")
        if not path.startswith("/v1/requesters/{"):  # ids of requesters may end in a slash
            documented = re.sub(r"\{\w+\}", "{id}", path)
            message = f"There is nothing at {address}/. Did you mean `{documented}`?"
            assert reply.error["message"] == message


def test_an_unknown_path_is_a_404_in_json(anonymous):
    for path in ("/v1", "/v1/", "/v1/nothing", "/v1/content/a/b", "/v1/Content", "/v1//content"):
        for method in ("GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"):
            assert_error(anonymous.request(method, path), 404, "resource_not_found")
    assert_error(anonymous.get("/v1/policies//versions"), 404, "resource_not_found")
    for path in ("/v2/content", "/content", "/index.php"):
        assert anonymous.get(path).status_and_code == (404, "resource_not_found")


@each_read()
def test_head_is_answered_as_get_without_the_body(api, account, ids, endpoint):
    path = endpoint.address(ids)
    head, get = api.request("HEAD", path), api.get(path)
    assert (head.status, head.content) == (200, b"")
    assert head.headers["Content-Type"] == get.headers["Content-Type"]
    assert all(name in head.headers for name in (*RATE_LIMIT_HEADERS, "RateLimit", "RateLimit-Policy", "X-Request-Id"))
    powerless = ApiClient(factories.key_text(account, permissions=[]))
    expected = 403 if endpoint.permission else 200
    assert powerless.request("HEAD", endpoint.filled(ids)[0]).status == expected


@each_with_body()
def test_long_bodies_and_unknown_fields_are_refused(api, ids, endpoint):
    assert_error(endpoint.send(api, ids, json=b'"' + b"x" * 1024 * 1024 + b'"'), 413, "request_too_large")
    for name in ("unknown", "non_field_errors", "detail", "[0]"):
        reply = endpoint.send(api, ids, json={**endpoint.body, name: 1})
        assert_error(reply, 422, "invalid_request", name)


def test_an_invalid_key_of_the_metadata_is_named(api):
    reply = api.post("/v1/content", {"title": "x", "metadata": {"non_field_errors": []}})
    assert reply.status_and_param == (422, "metadata.non_field_errors")


def test_a_valid_request_id_is_echoed_and_any_other_replaced(api):
    for sent in ("a", "x" * 128, "!~[]{}", "018f-request"):
        for path in ("/v1/content", "/v1/nothing"):
            assert api.get(path, headers={"X-Request-Id": sent}).headers["X-Request-Id"] == sent
    for sent in ("", "x" * 129, "a b", "é", "tab\there"):
        given = api.get("/v1/content", headers={"X-Request-Id": sent}).headers["X-Request-Id"]
        assert given != sent
        assert 1 <= len(given) <= 128
    assert len({api.get("/v1/content").headers["X-Request-Id"] for _ in range(3)}) == 3


def test_replies_are_json_for_every_accept_header(api):
    for accept in ("text/html", "application/xml", "image/png", "*/*"):
        assert_has_all_headers(api.get("/v1/content", headers={"Accept": accept}))
        assert_error(api.get("/v1/content/x", headers={"Accept": accept}), 404, "resource_not_found")
