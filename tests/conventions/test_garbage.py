import gc
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import orjson
import pytest
from django.http import HttpRequest
from django.test.client import ClientHandler
from rest_framework.response import Response

from kit.http.errors import ApiError
from licensing.models import Content, Policy
from tests import factories
from tests.client import ApiClient

pytestmark = pytest.mark.django_db


@contextmanager
def without_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def alive(*kinds: type) -> list[Any]:
    return [found for found in gc.get_objects() if issubclass(type(found), kinds)]  # a proxy reports a false class


def left() -> tuple[int, int]:
    """Return the number of rows, replies and errors in memory, and the bytes of request bodies."""
    bodies = sum(len(request.body) for request in alive(HttpRequest) if hasattr(request, "_body"))
    return len(alive(Content, Policy, Response, ApiError)), bodies


def status_of(api: ApiClient, method: str, target: str, body: Any = None) -> int:
    """Send a request as a server does, keeping only the reply's status."""
    path, _, query = target.partition("?")
    sent = b"" if body is None else orjson.dumps(body)
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_AUTHORIZATION": api.headers["Authorization"],
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(sent)),
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(sent),
    }
    return ClientHandler()(environ).status_code


@pytest.mark.parametrize(
    ("method", "target", "body", "status"),
    [
        ("GET", "/v1/content?limit=100&expand=policy", None, 200),
        ("GET", "/v1/policies", None, 200),
        ("POST", "/v1/content", {"title": "Another"}, 201),
        ("POST", "/v1/content", {"title": 7}, 422),
        ("POST", "/v1/access/check", {"contentId": "cnt_unknown", "requester": "org_acme"}, 404),
    ],
)
def test_a_request_leaves_no_rows_no_body_and_no_reply(api, account, method, target, body, status):
    factories.content(account, policy_id=factories.policy(account).pk)
    status_of(api, method, target, body)  # caches are filled once

    with without_collection():
        before = left()
        assert status_of(api, method, target, body) == status
        assert left() == before
