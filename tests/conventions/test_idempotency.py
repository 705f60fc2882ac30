from unittest.mock import Mock

import pytest

from accounts.models import IdempotencyRecord
from accounts.retries.idempotency import PURPOSE, decrypt_reply
from accounts.sealing import sealer
from analytics.models import LedgerEntry, WalletEntry
from kit.http.errors import IdempotencyConflict
from tests import factories, largest
from tests.client import ApiClient
from tests.conventions.endpoints import Endpoint, each_post, make_resources
from tests.stored import everything_stored

KEY = {"Idempotency-Key": "retry-1"}


def post_item(api, key="retry-1", **fields):
    return api.post("/v1/content", {"title": "x", **fields}, headers={"Idempotency-Key": key})


def is_replay(reply):
    return reply.headers.get("Idempotent-Replayed") == "true"


def totals(api):
    return [
        api.get(path)["totalCount"] for path in ("/v1/content", "/v1/policies", "/v1/api-keys", "/v1/access/decisions")
    ]


@each_post()
def test_without_the_header_each_request_is_its_own(api, account, endpoint):
    for ids in (make_resources(account), make_resources(account)):
        assert not is_replay(endpoint.send(api, ids))
    assert not IdempotencyRecord.objects.exists()


@each_post()
def test_a_key_makes_a_retry_a_replay_and_another_key_another_request(api, ids, endpoint):
    before = totals(api)
    for key in ("", " ", "a b", "é", "x" * 256, "tab\there"):
        reply = endpoint.send(api, ids, headers={"Idempotency-Key": key})
        assert (reply.status, reply.error["code"], reply.error["param"]) == (400, "invalid_request", "Idempotency-Key")
    assert totals(api) == before

    first = endpoint.send(api, ids, headers=KEY)
    after_first = totals(api)
    second = endpoint.send(api, ids, headers=KEY)
    assert (first.status, is_replay(first)) == (endpoint.status, False)
    assert (second.status, second.content, is_replay(second)) == (first.status, first.content, True)
    assert totals(api) == after_first

    endpoint.send(api, ids, headers=KEY)
    again = endpoint.send(api, ids, headers={"Idempotency-Key": "retry-2"})
    # A key that was rotated away has nothing to rotate, and a host has one site.
    conflicts = ("/v1/sites", "/v1/requesters", "/v1/wallets", "/v1/payments/{payment}/void")
    otherwise = {"/v1/api-keys/{key}/rotate": 422, **dict.fromkeys(conflicts, 409)}
    assert again.status == otherwise.get(endpoint.path, endpoint.status)
    assert not is_replay(again)


def test_a_key_is_visible_ascii_bare_or_quoted(api):
    for key in ("x", "x" * 255, '!"#~', "018f4c1e-0000-7000-8000-000000000000"):
        assert post_item(api, key).status == 201
        assert is_replay(post_item(api, key))
    # The draft of the header has a quoted string.
    for bare, quoted in (("k1", '"k1"'), ('a"b\\c', r'"a\"b\\c"')):
        first, again = post_item(api, bare), post_item(api, quoted)
        assert (again["id"], is_replay(first), is_replay(again)) == (first["id"], False, True)
    for key in ('""', '"a b"', f'"{"x" * 256}"'):
        assert post_item(api, key).error["param"] == "Idempotency-Key"


def test_the_same_body_may_be_spelt_differently_and_a_replay_has_its_own_headers(api):
    first = api.post("/v1/content", b'{"title": "x", "type": "image"}', headers=KEY)
    again = api.post("/v1/content", b'{ "type":"image","t\\u0069tle":"x" }', headers=KEY)
    assert (again.content, is_replay(again)) == (first.content, True)
    assert first.headers["X-Request-Id"] != again.headers["X-Request-Id"]
    assert again.headers["Content-Type"] == "application/json"


def test_the_same_key_for_another_request_is_refused(api):
    first = post_item(api)
    for other in [
        Endpoint("POST", "/v1/content", None, {"title": "y"}),
        Endpoint("POST", "/v1/content", None, {"title": "x", "tags": []}),
        Endpoint("POST", "/v1/policies", None, {"name": "x"}),
        Endpoint("POST", "/v1/policies", None, {"title": "x"}),
    ]:
        reply = other.send(api, {}, headers=KEY)
        assert reply.status_and_code == (422, "idempotency_mismatch"), other
        assert reply.error["type"] == "idempotency_error", other
        assert post_item(api).content == first.content, other


def test_the_path_is_part_of_the_request(api, account):
    first, second = (factories.policy(account).pk for _ in range(2))
    api.post(f"/v1/policies/{first}/rollback", {"version": 1}, headers=KEY)
    reply = api.post(f"/v1/policies/{second}/rollback", {"version": 1}, headers=KEY)
    assert reply.status_and_code == (422, "idempotency_mismatch")


def test_keys_are_shared_within_an_account_alone(api, other_api, account):
    mine, theirs = post_item(api), post_item(other_api)
    assert (theirs.status, is_replay(theirs)) == (201, False)
    assert mine["id"] != theirs["id"]
    first = post_item(api)
    again = post_item(ApiClient(factories.key_text(account)))
    assert (again.content, is_replay(again)) == (first.content, True)


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        (b'{"title": ""}', {"title": "x"}),
        (b'{"title": 1}', {"title": "x"}),
        (b"{", {"title": "x"}),
        (b'{"title": "x", "externalId": "taken"}', {"title": "x", "externalId": "free"}),
    ],
)
def test_after_an_error_the_key_is_free(api, broken, mended):
    api.post("/v1/content", {"title": "x", "externalId": "taken"})
    assert api.post("/v1/content", broken, headers=KEY).status >= 400
    reply = api.post("/v1/content", mended, headers=KEY)
    assert (reply.status, is_replay(reply)) == (201, False)


def test_after_a_failure_of_the_service_the_key_is_free(api, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("licensing.content.services.save_content", Mock(side_effect=RuntimeError))
        assert post_item(api).status == 500
    assert (post_item(api).status, totals(api)[0]) == (201, 1)


def test_a_record_lives_for_24_hours_by_its_own_time(api, clock):
    first = post_item(api)
    clock.advance(hours=24, microseconds=-1)
    assert is_replay(post_item(api))
    clock.advance(microseconds=1)
    again = post_item(api)
    assert (again.status, is_replay(again)) == (201, False)
    assert again["id"] != first["id"]
    assert post_item(api)["id"] == again["id"]
    post_item(api)
    clock.advance(hours=24)
    other = post_item(api, title="y")
    assert (other.status, other["title"]) == (201, "y")
    assert is_replay(post_item(api, title="y"))


def test_a_reply_that_an_older_version_kept_is_replayed(api, account):
    item = factories.content(account, policy_id=factories.policy(account).pk)
    for path, body in (
        ("/v1/access/check", {"contentId": item.pk, "requester": "org"}),
        ("/v1/content", {"title": "x"}),
    ):
        first = api.post(path, body, headers=KEY)
        token = sealer(PURPOSE).encrypt(first.content)
        IdempotencyRecord.objects.update(reply=token, headers=sealer(PURPOSE).encrypt(b"{}"))
        again = api.post(path, body, headers=KEY)
        assert (again.content, is_replay(again)) == (first.content, True)
        IdempotencyRecord.objects.all().delete()


def test_a_kept_reply_is_sealed_and_not_replayed_under_another_secret(api, settings):
    post_item(api, title="Confidential")
    record = IdempotencyRecord.objects.get()
    assert b"Confidential" not in bytes(record.reply)
    settings.API_KEY_PEPPER = b"another"
    with pytest.raises(IdempotencyConflict):
        decrypt_reply(record, bytes(record.fingerprint))


def test_a_replay_checks_key_permission_and_limit_first(api, account, clock):
    post_item(api)
    assert post_item(ApiClient(None)).status == 401
    assert post_item(ApiClient(factories.key_text(account, permissions=["content:read"]))).status == 403
    before = int(api.get("/v1/content").headers["X-RateLimit-Remaining"])
    assert int(post_item(api).headers["X-RateLimit-Remaining"]) == before - 1


def test_a_replayed_check_counts_consumes_and_charges_nothing_again(api, account):
    rule = {**factories.ALLOW_LICENSED, "rateLimit": {"requests": 2, "period": "month"}}
    item = factories.content(account, policy_id=factories.policy(account, rule).pk)
    factories.license(account, "org", per_access="0.05")
    factories.wallet(account, "USD", 1, requester_id="org")
    body = {"contentId": item.pk, "requester": "org"}
    first = api.post("/v1/access/check", body, headers=KEY)
    for _ in range(3):
        assert api.post("/v1/access/check", body, headers=KEY).content == first.content
    assert api.get("/v1/access/decisions")["totalCount"] == 1
    assert api.get(f"/v1/content/{item.pk}")["stats"]["totalRequests"] == 1
    assert WalletEntry.objects.filter(wallet__account=account, type="spend").count() == 1
    assert LedgerEntry.objects.filter(account=account).count() == 1
    assert api.post("/v1/access/check", body)["rateLimit"]["remaining"] == 0


NEW_KEY = {"name": "x", "type": "secret"}
KEY_MAKERS = pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/api-keys", NEW_KEY),
        ("/v1/api-keys/{key}/rotate", {}),
        ("/v1/api-keys/bulk", {"items": [{"type": "no name"}, NEW_KEY]}),
    ],
    ids=["one", "rotated", "in bulk"],
)


def make_key(path, body, ids, sender):
    return sender.post(path.format(**ids), body, headers=KEY)


def made_key(reply):
    """Return the last key in the reply."""
    return reply["data"][-1]["apiKey"] if "data" in reply.body else reply.body


@KEY_MAKERS
def test_a_replayed_key_creation_returns_the_same_key_but_not_to_weaker_keys(api, ids, path, body, caplog, account):
    first, again = (make_key(path, body, ids, api) for _ in range(2))
    assert (again.body, is_replay(again)) == (first.body, True)
    text = made_key(first)["key"]
    assert ApiClient(text).get("/v1/content").status == 200
    stored = everything_stored()
    assert b'"key":' not in stored  # of the reply; its other fields are in the event about the key
    assert text[:13].encode() in stored  # the prefix is
    assert text[13:].encode() not in stored
    assert text[13:] not in caplog.text

    made = make_key(path, body, ids, api)
    reply = make_key(path, body, ids, ApiClient(factories.key_text(account, permissions=["api_keys:manage"])))
    assert reply.status_and_code == (403, "insufficient_permissions")
    assert "*" in reply.error["message"]
    assert made_key(made)["key"].encode() not in reply.content
    assert is_replay(make_key(path, body, ids, api))


def test_another_key_with_the_same_permissions_gets_the_replay(account):
    body = {"name": "x", "type": "secret", "permissions": ["content:read"]}
    permissions = ["api_keys:manage", "content:read"]
    clients = [ApiClient(factories.key_text(account, permissions=permissions)) for _ in range(2)]
    first, again = (client.post("/v1/api-keys", body, headers=KEY) for client in clients)
    assert (again.status, again.content, is_replay(again)) == (201, first.content, True)


def test_a_reply_too_large_to_be_stored_rolls_its_request_back(api, account, monkeypatch):
    monkeypatch.setattr("accounts.retries.idempotency.MAX_REPLY", 1024 * 1024)
    grants = [f"p{number:062d}" for number in range(50)]
    rule = {**factories.ALLOW_ALL, "permissions": grants, "message": largest.LONGEST * 500}
    item = factories.content(account, policy_id=factories.policy(account, rule).pk)
    name = "r" + largest.LONGEST * 254
    batch = {
        "requester": {"id": name, "name": name},
        "checks": [{"contentId": item.pk, "correlationId": f"{number:03d}" + name[:252]} for number in range(100)],
    }
    reply = api.post("/v1/access/check/batch", batch, headers={"Idempotency-Key": "large"})
    assert reply.status_and_param == (422, "Idempotency-Key")
    assert "nothing was done" in reply.error["message"]
    assert api.get("/v1/access/decisions")["totalCount"] == 0
    batch["checks"] = batch["checks"][:50]
    assert api.post("/v1/access/check/batch", batch, headers={"Idempotency-Key": "large"}).status == 200


def test_a_key_of_another_check_is_refused_before_an_error_of_the_body(api, account):
    check = {"contentId": factories.content(account).pk, "requester": "org_acme"}
    others = [{"contentId": check["contentId"]}, {**check, "contentId": "cnt_no"}]
    first, *further = (
        api.post("/v1/access/check", body, headers={"Idempotency-Key": "used"}) for body in (check, *others)
    )
    assert first.status == 200
    assert [reply.error["code"] for reply in further] == ["idempotency_mismatch"] * 2
