import json
from typing import Any

from tests.client import ApiClient, Reply
from tests.conventions.endpoints import ENDPOINTS, Endpoint, each

each_bulk_request = each([endpoint for endpoint in ENDPOINTS if endpoint.path.endswith("/bulk")])

DEEP = b"[" * 32 + b"]" * 32
UNREADABLE = {
    b'{"name": "a\\u0000b"}': "name",
    b'{"name": "\\ud800"}': "name",
    b'{"metadata": {"a": ["b", "\\udc00 x"]}}': "metadata.a[1]",
    b'{"metadata": {"a\\u0000": 1}}': "metadata",
    b'{"\\ud800": 1}': None,
    b'"\\u0000"': None,
    b'{"name": ' + DEEP + b"}": None,
}


def send(api: ApiClient, endpoint: Endpoint, *rows: bytes, **options: Any) -> Reply:
    return api.post(endpoint.path, b'{"items": [' + b",".join(rows) + b"]}", **options)


def valid_row(endpoint: Endpoint) -> bytes:
    assert endpoint.body is not None
    return json.dumps(endpoint.body["items"][0]).encode()


@each_bulk_request
def test_a_row_with_a_text_that_cannot_be_stored_is_refused_alone(api, endpoint):
    outcomes = send(api, endpoint, valid_row(endpoint), *UNREADABLE, valid_row(endpoint))["data"]
    assert [one["status"] for one in outcomes] == [201, *[422] * len(UNREADABLE), 201]
    assert {one["error"]["code"] for one in outcomes[1:-1]} == {"invalid_request"}
    outcomes = send(api, endpoint, *UNREADABLE)["data"]
    assert [one["error"].get("param") for one in outcomes] == [*UNREADABLE.values()]
    for field, status in ((b'"a\\u0000": 1', 422), (b'"a": "\\ud800"', 400)):
        body = b'{"items": [' + valid_row(endpoint) + b"], " + field + b"}"
        assert api.post(endpoint.path, body).status == status


@each_bulk_request
def test_a_retry_with_such_a_row_gets_the_first_reply(api, endpoint):
    rows, headers = (valid_row(endpoint), *UNREADABLE), {"Idempotency-Key": "one"}
    first, retry = [send(api, endpoint, *rows, headers=headers) for _ in range(2)]
    assert (first.body, retry.headers["Idempotent-Replayed"]) == (retry.body, "true")


@each_bulk_request
def test_a_key_is_of_one_request_even_if_only_refused_rows_differ(api, endpoint):
    headers = {"Idempotency-Key": "one"}
    send(api, endpoint, b'{"name": "\\ud800"}', headers=headers)
    reply = send(api, endpoint, b'{"name": "\\ud801"}', headers=headers)
    assert reply.error["code"] == "idempotency_mismatch"


def test_the_error_describes_the_fault_of_the_row(api):
    rows = (b'{"title": "\\u0000"}', b'{"title": "\\ud800"}', b'{"title": ' + DEEP + b"}")
    outcomes = api.post("/v1/content/bulk", b'{"items": [' + b",".join(rows) + b"]}")["data"]
    assert [one["error"]["message"] for one in outcomes] == [
        "Text must not contain the character U+0000.",
        "The row has half of a surrogate pair, which is no character.",
        "The row is nested deeper than 32 levels.",
    ]
