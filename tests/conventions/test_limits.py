from datetime import datetime
from ipaddress import ip_address

import pytest

from accounts.keys import keytext
from accounts.keys import services as accounts
from accounts.limits.throttling import identify_caller
from accounts.models import ApiKey
from tests import factories
from tests.client import ApiClient

PER_MINUTE = {"starter": 60, "professional": 300}


def headers(reply):
    return tuple(int(reply.headers[f"X-RateLimit-{name}"]) for name in ("Limit", "Remaining", "Reset"))


def unix(text):
    return int(datetime.fromisoformat(text).timestamp())


@pytest.fixture
def tight(db):
    """Return a client of a new account with these limits."""

    def make(per_minute, per_day):
        fields = {"plan": "enterprise", "requests_per_minute": per_minute, "requests_per_day": per_day}
        return ApiClient(factories.key_text(factories.account(**fields)))

    return make


@pytest.mark.parametrize("plan", PER_MINUTE)
def test_a_plan_has_its_limit_per_minute(db, clock, plan):
    api = ApiClient(factories.key_text(factories.account(plan=plan)))
    limit = PER_MINUTE[plan]
    replies = [api.get("/v1/api-keys/x") for _ in range(limit + 1)]
    assert [reply.status for reply in replies] == [404] * limit + [429]
    assert headers(replies[0]) == (limit, limit - 1, unix("2026-03-04T05:07:00Z"))
    assert headers(replies[-2]) == headers(replies[-1]) == (limit, 0, unix("2026-03-04T05:07:00Z"))


def test_a_refused_request_says_how_long_to_wait(tight, clock):
    api = tight(1, 100)
    api.get("/v1/content")
    reply = api.get("/v1/content")
    assert (reply.status, reply.error["code"], reply.error["type"]) == (429, "rate_limit_exceeded", "rate_limit_error")
    assert reply.error["retryAfter"] == 53
    assert reply.headers["Retry-After"] == "53"
    assert reply.headers["X-Request-Id"]

    clock.set("2026-03-04T05:06:59.999Z")
    api.get("/v1/content")
    assert api.get("/v1/content").error["retryAfter"] == 1


def test_a_new_minute_and_a_new_day_begin_at_nothing(tight, clock):
    api = tight(2, 100)
    assert [api.get("/v1/content").status for _ in range(3)] == [200, 200, 429]
    clock.set("2026-03-04T05:06:59.999Z")
    assert api.get("/v1/content").status == 429
    clock.set("2026-03-04T05:07:00Z")
    assert [api.get("/v1/content").status for _ in range(3)] == [200, 200, 429]

    api = tight(3, 5)
    for minute, passed in (("07", 3), ("08", 2), ("09", 0)):
        clock.set(f"2026-03-04T05:{minute}:00Z")
        statuses = [api.get("/v1/content").status for _ in range(4)]
        assert statuses == [200] * passed + [429] * (4 - passed)
    reply = api.get("/v1/content")
    assert headers(reply) == (5, 0, unix("2026-03-05T00:00:00Z"))
    assert reply.error["retryAfter"] == unix("2026-03-05T00:00:00Z") - unix("2026-03-04T05:09:00Z")
    clock.set("2026-03-05T00:00:00Z")
    assert api.get("/v1/content").status == 200


def test_the_headers_are_of_the_window_that_has_less_left(tight, clock):
    api = tight(3, 5)
    assert headers(api.get("/v1/content"))[:2] == (3, 2)
    api.get("/v1/content")
    clock.advance(minutes=1)
    assert headers(api.get("/v1/content"))[:2] in {(5, 2), (3, 2)}
    assert headers(api.get("/v1/content"))[:2] in {(5, 1), (3, 1)}
    clock.advance(minutes=1)
    assert headers(api.get("/v1/content")) == (5, 0, unix("2026-03-05T00:00:00Z"))


def test_only_requests_refused_for_the_limit_consume_nothing(tight, clock):
    api = tight(2, 3)
    assert [api.get("/v1/content").status for _ in range(10)] == [200] * 2 + [429] * 8
    clock.advance(minutes=1)
    assert [api.get("/v1/content").status for _ in range(2)] == [200, 429]

    api = tight(3, 100)
    assert api.post("/v1/content", b"{").status == 400
    assert api.get("/v1/content/unknown").status == 404
    assert api.get("/v1/content", unknown="1").status == 400
    assert api.get("/v1/content").status == 429


def test_the_limit_comes_after_the_key_and_before_permission_and_body(db, clock):
    account = factories.account(plan="enterprise", requests_per_minute=1, requests_per_day=9)
    powerless = ApiClient(factories.key_text(account, permissions=[]))
    assert [powerless.post("/v1/content", b"{").status for _ in range(2)] == [403, 429]
    account = factories.account(plan="enterprise", requests_per_minute=1, requests_per_day=9)
    elsewhere = ApiClient(factories.key_text(account, allowed_ips=["203.0.113.9"]))
    assert [elsewhere.get("/v1/content").status for _ in range(3)] == [403, 403, 403]
    assert ApiClient(factories.key_text(account)).get("/v1/content").status == 200


def test_an_account_has_one_limit_for_all_its_keys(db, clock, tight):
    account = factories.account(plan="enterprise", requests_per_minute=3, requests_per_day=100)
    first, second = (ApiClient(factories.key_text(account)) for _ in range(2))
    assert [client.get("/v1/content").status for client in (first, second, first, second)] == [200, 200, 200, 429]
    first, second = tight(1, 100), tight(1, 100)
    assert [client.get("/v1/content").status for client in (first, first, second)] == [200, 429, 200]


def test_every_method_counts(tight, clock):
    api = tight(4, 100)
    api.request("HEAD", "/v1/content")
    item = api.post("/v1/content", {"title": "x"})
    api.patch(f"/v1/content/{item['id']}", {"title": "y"})
    assert headers(api.delete(f"/v1/content/{item['id']}"))[1] == 0
    assert api.request("HEAD", "/v1/content").status == 429


def test_without_a_valid_key_60_a_minute_are_answered_per_address(anonymous, clock, api):
    assert headers(anonymous.get("/v1/content")) == (60, 59, unix("2026-03-04T05:07:00Z"))
    wrong = ApiClient("svc_sk_nonsense")
    assert [wrong.get("/v1/content").status for _ in range(59)] == [401] * 59
    refused = anonymous.get("/v1/content")
    assert (refused.status, refused.error["code"]) == (429, "rate_limit_exceeded")
    assert refused.error["retryAfter"] == 53
    clock.advance(minutes=1)
    assert anonymous.get("/v1/content").status == 401
    for _ in range(61):
        anonymous.get("/v1/content")
    assert api.get("/v1/content").status == 200
    for _ in range(61):
        last = anonymous.get("/v1/content")
    assert last.status == 429
    anonymous.client.defaults["REMOTE_ADDR"] = "203.0.113.9"
    assert headers(anonymous.get("/v1/content"))[1] == 59


def test_uncounted_requests_cost_no_query_and_show_the_remaining_limit(tight, clock, django_assert_num_queries):
    api = tight(5, 100)
    api.get("/v1/content")
    for reply in (api.get("/v1/nothing"), api.request("PUT", "/v1/content"), api.get("/v1/content/")):
        assert headers(reply)[:2] == (5, 4)

    for method, path in (("GET", "/v1/nothing"), ("PUT", "/v1/content"), ("GET", "/v1/content/")):
        known, unknown = tight(5, 100), tight(5, 100)
        known.get("/v1/content")
        for api in (known, unknown):
            with django_assert_num_queries(0):
                assert api.request(method, path).status in (404, 405)


def test_a_change_of_plan_holds_at_once(db, clock):
    account = factories.account(plan="starter")
    api = ApiClient(factories.key_text(account))
    assert headers(api.get("/v1/content"))[0] == 60
    account.plan = "professional"
    account.save()
    assert headers(api.get("/v1/content"))[:2] == (300, 298)


def test_a_flood_of_unknown_paths_by_keys_that_were_never_seen_counts_by_address(db, clock):
    replies = [ApiClient(keytext.generate("secret")).get("/v1/nothing") for _ in range(61)]
    assert [reply.status for reply in replies] == [404] * 60 + [429]
    assert headers(replies[-1])[:2] == (60, 0)
    assert replies[-1].error["code"] == "rate_limit_exceeded"
    assert replies[-1].headers["Retry-After"] == str(replies[-1].error["retryAfter"])


def test_a_browsers_preflight_counts_nothing(anonymous, clock):
    preflight = {"Origin": "https://example.com", "Access-Control-Request-Method": "POST"}
    for _ in range(3):
        assert anonymous.request("OPTIONS", "/v1/access/check", headers=preflight).status == 200
    assert headers(anonymous.get("/v1/content"))[:2] == (60, 59)


@pytest.fixture
def elsewhere(account, clock):
    """A client whose key was used from an allowed address, and is now used from another."""
    api = ApiClient(factories.key_text(account, allowed_ips=["203.0.113.9"]))
    api.client.defaults["REMOTE_ADDR"] = "203.0.113.9"
    assert api.get("/v1/content").status == 200
    api.client.defaults["REMOTE_ADDR"] = "198.51.100.7"
    return api


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "once"}])
def test_a_flood_from_an_address_outside_a_keys_list_counts_by_address(elsewhere, headers, clock):
    check = {"contentId": "cnt_unknown", "requester": "org_acme"}
    replies = [elsewhere.post("/v1/access/check", check, headers=headers) for _ in range(61)]
    assert [reply.status for reply in replies] == [403] * 60 + [429]


def test_a_request_from_outside_a_keys_list_shows_and_takes_nothing_of_its_account(elsewhere, account):
    assert headers(elsewhere.get("/v1/nothing"))[0] == 60
    header = elsewhere.headers["Authorization"]
    assert identify_caller(header, ip_address("203.0.113.9")) == f"account:{account.pk}"
    assert identify_caller(header, ip_address("198.51.100.7")) == "address:198.51.100.7"


def test_requests_take_threads_of_their_account_until_their_key_ends(api, account, clock):
    api.get("/v1/content")
    api.get("/v1/openapi.json")
    assert identify_caller(api.headers["Authorization"], ip_address("127.0.0.1")) == f"account:{account.pk}"
    header, address = api.headers["Authorization"], ip_address("127.0.0.1")
    api.get("/v1/content")
    assert identify_caller(header, address) == f"account:{account.pk}"
    accounts.revoke_api_key(ApiKey.objects.get(account=account))
    assert api.get("/v1/content").status == 401
    assert identify_caller(header, address) == "address:127.0.0.1"
