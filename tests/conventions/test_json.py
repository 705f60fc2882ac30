import json

import pytest

from config.pages import openapi_document
from kit.http.parsing import MAX_BYTES, MAX_DEPTH
from kit.openapi.deprecations import fields_of
from tests.conventions.endpoints import ENDPOINTS, Endpoint, each, each_with_body
from tests.conventions.replies import assert_error

DOCUMENT = openapi_document()

NO_JSON = {
    "no body": b"",
    "white space": b" \n ",
    "truncated": b'{"title": "x"',
    "truncated text": b'{"title": "x',
    "trailing text": b'{"title": "x"} x',
    "two objects": b'{"title": "x"}{"title": "x"}',
    "trailing comma": b'{"title": "x",}',
    "single quotes": b"{'title': 'x'}",
    "comment": b'{"title": "x"} // y',
    "NaN": b'{"title": NaN}',
    "Infinity": b'{"title": Infinity}',
    "-Infinity": b'{"title": -Infinity}',
    "float past its range": b'{"title": 1e400}',
    "duplicate keys": b'{"title": "x", "title": "y"}',
    "duplicate keys further in": b'{"metadata": {"a": 1, "a": 1}}',
    "duplicate keys spelt differently": b'{"title": "x", "t\\u0069tle": "y"}',
    "deeper than 32": b'{"title": ' + b"[" * 32 + b"]" * 32 + b"}",
    "deeper than 32 in turns": b'{"title": [' * 17 + b"]}" * 17,
    "deeper than a fast encoder writes": b'{"title": ' + b"[" * 300 + b"]" * 300 + b"}",
    "very deep": b'{"title": ' + b"[" * 200_000,
    "very deep and whole": b'{"title": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "integer past 64 bits": b'{"title": 9223372036854775808}',
    "negative integer past 64 bits": b'{"title": -9223372036854775809}',
    "very long integer": b'{"title": ' + b"9" * 100_000 + b"}",
    "invalid UTF-8": b'{"title": "\xff"}',
    "overlong UTF-8": b'{"title": "\xc0\xaf"}',
    "UTF-16": '{"title": "x"}'.encode("utf-16"),
    "surrogate in UTF-8": b'{"title": "\xed\xa0\x80"}',
    "lone high surrogate": b'{"title": "\\ud800"}',
    "lone low surrogate": b'{"title": "\\udc00 x"}',
    "lone surrogate in a key": b'{"\\ud800": 1}',
    "control character": b'{"title": "\x01"}',
    "array": b"[]",
    "array of objects": b'[{"title": "x"}]',
    "string": b'"x"',
    "number": b"1",
    "null": b"null",
    "true": b"true",
}


OTHER_MEDIA_TYPES = [
    "text/plain", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
    "application/jsonp",
]  # fmt: skip


@each_with_body()
def test_bodies_other_than_one_strict_json_object_in_utf_8_are_refused(api, ids, endpoint):
    for what, body in NO_JSON.items():
        reply = endpoint.send(api, ids, json=body)
        assert reply.status == 400, what
        assert_error(reply, 400, "invalid_request")
        assert reply.error["type"] == "validation_error"
    for body in (b'{"title": "a\\u0000b"}', b'{"rules": [{"message": "\\u0000"}]}', b'{"a\\u0000": 1}'):
        reply = endpoint.send(api, ids, json=body)
        assert reply.status_and_code == (422, "invalid_request")
    merge_patch = [] if endpoint.method == "PATCH" else ["application/merge-patch+json"]
    for media_type in OTHER_MEDIA_TYPES + merge_patch:
        reply = endpoint.send(api, ids, headers={"Content-Type": media_type})
        assert_error(reply, 415, "unsupported_media_type")
        assert reply.error["type"] == "invalid_request_error"
    for charset in ("utf-16", "UTF-16LE", "iso-8859-1", '"latin-1"', "utf-80", "", "x; charset=utf-8"):
        reply = endpoint.send(api, ids, headers={"Content-Type": f"application/json; charset={charset}"})
        assert (charset, reply.status, reply.error["code"]) == (charset, 415, "unsupported_media_type")


def padded(size: int) -> bytes:
    body = b'{"title": "x"}'
    return body + b" " * (size - len(body))


def test_size_and_nesting_have_limits_and_a_nul_is_named(api):
    assert api.post("/v1/content", padded(MAX_BYTES)).status == 201
    reply = api.post("/v1/content", padded(MAX_BYTES + 1))
    assert reply.status_and_code == (413, "request_too_large")
    assert reply.error["type"] == "invalid_request_error"
    body = b'{"title": "x", "tags": ' + b"[" * (MAX_DEPTH - 1) + b"]" * (MAX_DEPTH - 1) + b"}"
    reply = api.post("/v1/content", body)
    assert (reply.status, reply.error["param"].partition("[")[0]) == (422, "tags")
    reply = api.post("/v1/content", b'{"title": "x", "metadata": {"tags": ["a", "\\u0000"]}}')
    assert reply.status_and_param == (422, "metadata.tags[1]")


def test_numbers_characters_and_media_types_that_fit_are_kept(api):
    for number in (2**63 - 1, -(2**63), 0.1, 1e300, -0.0):
        reply = api.post("/v1/content", {"title": "x", "metadata": {"number": number}})
        assert reply["metadata"]["number"] == number
    for text in (
        "\U0001f600", "\\ud83d\\ude00", "é", "\\u00e9", "\u2028", "\ufffe", "\x7f",
    ):  # fmt: skip
        reply = api.post("/v1/content", f'{{"title": "a{text}"}}'.encode())
        assert (reply.status, reply["title"]) == (201, json.loads(f'"a{text}"'))
    for media_type in (
        "application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8",
        'application/json; charset="utf-8"; profile=x', "application/json; charset=utf8",
        "application/json; charset=us-ascii", "",
    ):  # fmt: skip
        assert api.post("/v1/content", {"title": "x"}, headers={"Content-Type": media_type}).status == 201


def takes_metadata(endpoint: Endpoint) -> bool:
    operation = DOCUMENT["paths"].get(endpoint.path, {}).get("post", {})
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    return bool(fields_of(schema, ["metadata"], DOCUMENT))


@each([endpoint for endpoint in ENDPOINTS if endpoint.status == 201 and takes_metadata(endpoint)])
def test_metadata_keeps_numbers_with_a_fraction(api, ids, endpoint):
    _, body = endpoint.filled(ids)
    numbers = {"half": 0.5, "small": -0.004402368890289837}
    assert endpoint.send(api, ids, json={**body, "metadata": numbers})["metadata"] == numbers


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "1"}])
@pytest.mark.parametrize(
    ("number", "status"),
    [
        ("1.5e308", 201), ("-1.7976931348623157e308", 201),
        ("1.7976931348623158079372897140530341507993413271003782693617377898044e308", 201),
        ("1.7976931348623158079372897140530341507993413271003782693617377898045e308", 400), ("1.8e308", 400),
        ("-1e309", 400), ("1e99999999999999999999", 400), ("0.1" + "0" * 100_000, 201),
        ("1e-99999999999999999999", 201), ("0e99999999999999999999", 201),
    ],
)  # fmt: skip
def test_a_number_is_as_large_as_a_float_can_be(api, number, status, headers):
    reply = api.post("/v1/content", f'{{"title": "x", "metadata": {{"n": {number}}}}}'.encode(), headers=headers)
    assert reply.status == status
    assert status == 400 or reply["metadata"]["n"] == float(number)


def test_a_refused_body_writes_nothing(api):
    for body in NO_JSON.values():
        api.post("/v1/content", body)
    assert api.get("/v1/content")["totalCount"] == 0
