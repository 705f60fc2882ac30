import json
from typing import Any

from kit.values.faults import MAX_FAULTS
from tests import factories
from tests.client import ApiClient, Reply
from tests.conventions.endpoints import ENDPOINTS, Endpoint, each

RULES = [
    {"action": "allow", "conditions": {"licenseType": ["a", ""], "country": "DE"}, "rateLimit": {"requests": 0}},
    {"action": "deny", "conditions": {"default": True}},
    {"action": "deny", "conditions": {"default": False}, "permissions": ["read"], "priority": "1"},
]
RULE_FAULTS = [
    "rules[0].conditions.country", "rules[0].conditions.licenseType[1]", "rules[0].rateLimit.period",
    "rules[0].rateLimit.requests", "rules[2].permissions", "rules[2].conditions.default", "rules[2].priority",
]  # fmt: skip


def params(error):
    """Return the `param` of every error; the first is the main error's."""
    first, *_ = told = error["errors"]
    assert first == {name: error[name] for name in ("code", "message", "param", "kind") if name in error}
    return [one.get("param") for one in told]


def test_every_fault_of_a_body_and_of_each_row_is_reported(api: ApiClient):
    error = api.post(
        "/v1/content",
        {"title": " ", "type": "song", "colour": "red", "metadata": {"author": 1, "wordCount": -1}, "tags": ["", 2]},
    ).error
    assert params(error) == [
        "colour", "title", "type", "metadata.author", "metadata.wordCount", "tags[0]", "tags[1]"
    ]  # fmt: skip
    assert {one["code"] for one in error["errors"]} == {"invalid_request"}

    reply = api.post("/v1/content/bulk", {"items": [{"title": " ", "type": "song"}, {"title": "Item"}]})
    wrong, right = reply["data"]
    assert [one["param"] for one in wrong["error"]["errors"]] == ["title", "type"]
    assert right["status"] == 201


def test_one_fault_stands_alone(api: ApiClient):
    error = api.post("/v1/content", {"title": " "}).error
    assert sorted(error) == ["code", "docUrl", "kind", "message", "param", "type"]
    for body in ({"contentId": 5, "requester": "org"}, {"contentId": "a"}):
        assert sorted(api.post("/v1/access/check", body).error) == [
            "code", "docUrl", "kind", "message", "param", "type",
        ]  # fmt: skip


def test_every_fault_of_every_rule_is_reported(api: ApiClient, account):
    assert params(api.post("/v1/policies", {"name": " ", "rules": RULES}).error) == ["name", *RULE_FAULTS]
    policy = api.post("/v1/policies", {"name": "x"})["id"]
    assert params(api.patch(f"/v1/policies/{policy}", {"rules": RULES}).error) == RULE_FAULTS
    for draft in ("lint", "{policy}/simulate"):
        path = f"/v1/policies/{draft.format(policy=factories.policy(account).pk)}"
        assert params(api.post(path, {"rules": RULES, "defaultAction": 1}).error) == [*RULE_FAULTS, "defaultAction"]


def test_every_fault_of_offers_is_reported(api: ApiClient):
    """tests/endpoints/test_access_faults.py has the faults of checks."""
    items = [{"url": "https://pub.example/"}, {}, {"url": "https://pub.example/", "contentId": "x"}]
    error = api.post("/v1/access/offers/batch", {"items": items, "permission": "?"}).error
    assert params(error) == ["permission", "items[1].url", "items[2].contentId"]


def test_a_reply_reports_at_most_a_hundred_faults(api: ApiClient):
    check = {"contentId": 5, "requester": "", "permission": "?", "more": 1}
    assert len(params(api.post("/v1/access/check/batch", {"checks": [check] * 100}).error)) == MAX_FAULTS
    rule = {"action": "allow", "conditions": {"tags": [""] * 500}}
    assert len(params(api.post("/v1/policies", {"name": "x", "rules": [rule] * 20}).error)) == MAX_FAULTS


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
    assert send(api, endpoint, b'{"name": "\\ud801"}', headers=headers).error["code"] == "idempotency_mismatch"


def test_the_error_describes_the_fault_of_the_row(api):
    rows = (b'{"title": "\\u0000"}', b'{"title": "\\ud800"}', b'{"title": ' + DEEP + b"}")
    outcomes = api.post("/v1/content/bulk", b'{"items": [' + b",".join(rows) + b"]}")["data"]
    assert [one["error"]["message"] for one in outcomes] == [
        "Text must not contain the character U+0000.",
        "The row has half of a surrogate pair, which is no character.",
        "The row is nested deeper than 32 levels.",
    ]
