"""What every reply and every error has to have (docs/reference/api.md)."""

import re
import time

from tests.client import Reply

RATE_LIMIT_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
POLICY = re.compile(r'"minute";q=\d+;w=60(, "day";q=\d+;w=86400)?')
ERROR_MEMBERS = {"code", "message", "type", "docUrl", "param", "kind", "retryAfter", "errors"}


def assert_has_all_headers(reply: Reply) -> None:
    """Assert that a reply has every header that docs/reference/api.md promises."""
    headers = reply.headers
    limit, remaining, reset = (int(headers[name]) for name in RATE_LIMIT_HEADERS)
    assert 0 <= remaining <= limit
    assert -3600 < reset - time.time() <= 86_401, "The reset is not a Unix time."  # a busy machine looks late
    assert re.fullmatch(rf'"(minute|day)";r={remaining};t=[1-9]\d*', headers["RateLimit"]), headers["RateLimit"]
    assert POLICY.fullmatch(headers["RateLimit-Policy"]), headers["RateLimit-Policy"]
    assert f";q={limit};" in headers["RateLimit-Policy"]
    assert headers["X-Request-Id"], "There is no request id."
    assert headers["Content-Type"] == "application/json"


def assert_error(reply: Reply, status: int, code: str, param: str | None = None) -> None:
    """Assert that a reply is this error, with all of its headers and members. Checks `param` only if given."""
    assert reply.status == status, reply
    error = reply.error
    assert error["code"] == code
    assert set(reply.body) == {"error"}
    assert set(error) <= ERROR_MEMBERS
    assert error["docUrl"] == f"/docs/reference/errors/#{code}"
    assert error["message"], "The error has no message."
    assert param is None or error["param"] == param
    assert_has_all_headers(reply)


def assert_parameter_refused(reply: Reply, param: str) -> None:
    """Assert that a reply refuses this parameter of the query."""
    assert reply.status == 400, reply
    assert (reply.error["code"], reply.error["param"]) == ("invalid_request", param)
