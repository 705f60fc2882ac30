import gzip

import brotli
import orjson
import pytest

from tests import factories
from tests.client import ApiClient
from tests.conventions.endpoints import WITH_KEY

GZIP = {"Accept-Encoding": "gzip"}
UNPACKED = {"br": brotli.decompress, "gzip": gzip.decompress}
ACCEPTED = [
    ("gzip", "gzip"), ("br", "br"), ("gzip, deflate, br", "br"), ("BR;q=0.5, gzip", "br"), ("br;q=0, gzip", "gzip"),
    ("br;q=0.000,gzip;q=0.1", "gzip"), ("brr, gzip", "gzip"),
]  # fmt: skip
NOT_PREFERRING = [
    "application/json", "*/*", "application/json, application/problem+json", "application/problem+json;q=0",
    "application/json;q=0.5, application/problem+json;q=0.4", "text/html",
]  # fmt: skip


@pytest.fixture
def many(account):
    for number in range(20):
        factories.content(account, title=f"Item {number}", external_id=f"a-{number}")


def test_a_large_reply_is_compressed_if_the_client_accepts_it(api, many):
    for accepted, coding in ACCEPTED:
        plain, packed = api.get("/v1/content"), api.get("/v1/content", headers={"Accept-Encoding": accepted})
        assert packed.headers["Content-Encoding"] == coding
        assert packed.headers["Content-Length"] == str(len(packed.content))
        assert "accept-encoding" in packed.headers["Vary"].lower()
        assert len(packed.content) < len(plain.content) / 3
        assert UNPACKED[coding](packed.content) == plain.content
        assert "Content-Encoding" not in plain.headers
    for accepted in ("", "identity", "br;q=0", "deflate"):
        assert "Content-Encoding" not in api.get("/v1/content", headers={"Accept-Encoding": accepted}).headers
    for coding, unpack in UNPACKED.items():
        packed = api.get("/v1/content?format=csv", headers={"Accept-Encoding": coding})
        assert packed.headers["Content-Encoding"] == coding
        plain = api.get("/v1/content?format=csv")
        assert unpack(packed.content) == plain.content
        assert len(packed.content) < len(plain.content) / 3


def test_small_replies_and_those_with_a_tag_are_not_compressed(api):
    assert "Content-Encoding" not in api.get("/v1/content", headers=GZIP).headers
    # A strong tag stands for the bytes; If-Match would never match a weak one.
    item = api.post("/v1/content", {"title": "x" * 500, "metadata": {f"k{n}": "v" * 100 for n in range(20)}})
    read = api.get(f"/v1/content/{item['id']}", headers=GZIP)
    assert ("Content-Encoding" in read.headers, read.headers["ETag"]) == (False, item.headers["ETag"])


def test_the_document_is_a_tenth_of_its_size(anonymous):
    plain, *packed = (
        anonymous.get("/v1/openapi.json", headers={"Accept-Encoding": coding}) for coding in ("identity", *UNPACKED)
    )
    assert all(len(one.content) * 8 < len(plain.content) for one in packed)


def test_nothing_with_a_secret_is_compressed(api, account):
    for number in range(20):
        factories.api_key(account, name=f"Key {number}")
    body = {"name": "x" * 255, "type": "secret", "allowedIps": [f"10.0.{n}.0/24" for n in range(100)]}
    for reply in (api.get("/v1/api-keys", headers=GZIP), api.post("/v1/api-keys", body, headers=GZIP)):
        assert len(reply.content) > 1024
        assert "Content-Encoding" not in reply.headers


@pytest.mark.parametrize("endpoint", [one for one in WITH_KEY if one.method == "PATCH"], ids=str)
def test_a_patch_may_call_itself_a_merge_patch(api, ids, endpoint):
    headers = {"Content-Type": "application/merge-patch+json; charset=utf-8"}
    assert endpoint.send(api, ids, headers=headers).status == 200


def test_errors_have_the_envelope_or_are_problems(anonymous):
    for accept in NOT_PREFERRING:
        assert anonymous.get("/v1/content", headers={"Accept": accept}).error["code"] == "missing_api_key"
    for path, host, status in (("/v1/nothing", "localhost", 404), ("/v1/content", "x.example", 400)):
        reply = anonymous.get(path, headers={"Accept": "application/problem+json", "Host": host})
        problem = orjson.loads(reply.content)
        assert (reply.status, problem["status"], problem["detail"]) == (status, status, problem["error"]["message"])
    reply = anonymous.get("/docs")
    assert (reply.status, reply.headers["Location"]) == (302, "/docs/")


def test_a_success_is_json_for_clients_that_prefer_problems_and_options_name_the_methods(account, api):
    problems = ApiClient(factories.key_text(account), Accept="application/problem+json")
    assert problems.get("/v1/content").headers["Content-Type"] == "application/json"
    reply = api.request("OPTIONS", "/v1/content")
    assert (reply.status, reply.headers["Allow"]) == (204, "GET, POST, HEAD")


def test_a_preflight_is_answered_for_any_origin_and_a_page_can_read_the_list_and_the_limits(anonymous, account):
    asked = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
    reply = anonymous.request("OPTIONS", "/v1/content", headers={"Origin": "https://reader.example", **asked})
    assert reply.status == 200
    assert reply.headers["Access-Control-Allow-Origin"] == "*"
    assert "authorization" in reply.headers["Access-Control-Allow-Headers"]
    public = ApiClient(factories.key_text(account, type="public"), Origin="https://reader.example")
    reply = public.get("/v1/content")
    assert reply.status == 200
    assert reply.headers["Access-Control-Allow-Origin"] == "*"
    assert "x-ratelimit-remaining" in reply.headers["Access-Control-Expose-Headers"]
