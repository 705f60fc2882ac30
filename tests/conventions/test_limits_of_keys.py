from ipaddress import ip_address

import pytest

from accounts.limits.limiter import limiter
from accounts.limits.throttling import identify_caller, plan_consume
from tests import factories
from tests.client import ApiClient

CHECK = {"contentId": "cnt_00000000000000000000000000", "requester": "org_acme"}


def headers(reply):
    return tuple(int(reply.headers[f"X-RateLimit-{name}"]) for name in ("Limit", "Remaining"))


@pytest.fixture
def plan(db, clock):
    """Return a new account with these limits."""

    def make(per_minute, per_day):
        return factories.account(plan="enterprise", requests_per_minute=per_minute, requests_per_day=per_day)

    return make


def key_of(account, **fields):
    return factories.key_text(account, **fields)


def statuses(api, count, address="127.0.0.1"):
    api.client.defaults["REMOTE_ADDR"] = address
    return [api.get("/v1/content").status for _ in range(count)]


def used(account):
    [counts] = limiter.look([plan_consume(account.pk, *account.limits)])
    return counts


def test_public_keys_share_half_of_the_plans_minute_and_secret_keys_never_wait_for_them(plan):
    account = plan(5, 100)
    pages = [ApiClient(key_of(account, type="public")) for _ in range(2)]
    assert [statuses(page, 2) for page in pages] == [[200, 200], [429, 429]]
    refused = pages[0].get("/v1/content")
    assert refused.error["message"].startswith("The limit of 2 requests a minute for the account's public keys is")
    assert headers(refused) == (2, 0)
    assert refused.error["retryAfter"] == 53
    assert statuses(ApiClient(key_of(account)), 6) == [200] * 5 + [429]


def test_secret_keys_take_nothing_of_the_share_of_public_keys(plan):
    account = plan(4, 100)
    assert statuses(ApiClient(key_of(account)), 5) == [200] * 4 + [429]
    assert statuses(ApiClient(key_of(account, type="public")), 3) == [200, 200, 429]


def test_public_keys_share_half_of_the_plans_day(plan, clock):
    account = plan(6, 8)
    page = ApiClient(key_of(account, type="public"))
    assert statuses(page, 4) == [200, 200, 200, 429]
    clock.advance(minutes=1)
    assert statuses(page, 2) == [200, 429]
    assert headers(page.get("/v1/content")) == (4, 0)
    assert statuses(ApiClient(key_of(account)), 6) == [200] * 6


def test_an_address_uses_60_a_minute_of_the_share(plan):
    page = ApiClient(key_of(plan(1_000, 10_000), type="public"))
    assert statuses(page, 61, "2001:db8:0:1::7") == [200] * 60 + [429]
    refused = page.get("/v1/content")
    assert "60 requests a minute with public keys from one address" in refused.error["message"]
    assert statuses(page, 1, "2001:db8:0:1::8") == [429]  # of the same /64
    assert statuses(page, 1, "2001:db8:0:2::7") == [200]
    assert statuses(page, 1, "203.0.113.9") == [200]


def test_the_headers_describe_the_limit_that_ends_first(plan):
    page = ApiClient(key_of(plan(300, 10_000), type="public"))
    reply = page.get("/v1/content")
    assert headers(reply) == (60, 59)
    assert reply.headers["RateLimit-Policy"] == '"minute";q=150;w=60, "day";q=5000;w=86400, "address";q=60;w=60'
    assert reply.headers["RateLimit"] == '"address";r=59;t=53'
    for number in range(100):
        statuses(page, 1, f"203.0.113.{number}")
    assert headers(page.get("/v1/content")) == (150, 48)
    assert page.get("/v1/content").headers["RateLimit"] == '"minute";r=47;t=53'


def test_a_plan_of_one_request_and_unknown_paths_have_a_public_share(plan):
    assert statuses(ApiClient(key_of(plan(1, 1), type="public")), 2) == [200, 429]
    page = ApiClient(key_of(plan(10, 100), type="public"))
    page.get("/v1/content")
    assert headers(page.get("/v1/nothing")) == (5, 4)


def test_public_keys_take_no_thread_of_the_accounts_secret_keys(account, clock):
    text, address = key_of(account, type="public"), ip_address("127.0.0.1")
    assert ApiClient(text).get("/v1/content").status == 200
    assert identify_caller(f"Bearer {text}", address) == f"public:account:{account.pk}"


def test_every_request_of_a_public_key_counts_in_its_share(connect, plan):
    account = plan(4, 100)
    page = connect(key_of(account, type="public"))
    assert [page.post("/v1/access/check", CHECK).status for _ in range(3)] == [403, 403, 429]
    assert page.get("/v1/content").status == 429
    assert used(account) == [0, 0]
    asking = connect(key_of(account))
    assert [asking.post("/v1/access/check", CHECK).status for _ in range(5)] == [404] * 4 + [429]


def test_a_key_may_have_a_limit_of_its_own_below_the_plans(connect, plan):
    account = plan(5, 100)
    limited = connect(key_of(account, rate_limit={"requests": 2, "period": "minute"}))
    replies = [limited.post("/v1/access/check", CHECK) for _ in range(3)]
    assert [reply.status for reply in replies] == [404, 404, 429]
    assert [headers(reply) for reply in replies] == [(2, 1), (2, 0), (2, 0)]
    assert replies[0].headers["RateLimit-Policy"] == '"minute";q=5;w=60, "day";q=100;w=86400, "key";q=2;w=60'
    assert replies[0].headers["RateLimit"] == '"key";r=1;t=53'
    assert replies[2].error["message"].startswith("The limit of 2 requests a minute of this key is used up.")
    assert used(account) == [2, 2]  # the refused request consumed nothing of the plan
    other = connect(key_of(account))
    assert [other.post("/v1/access/check", CHECK).status for _ in range(4)] == [404] * 3 + [429]


def test_a_request_that_the_plan_refuses_consumes_nothing_of_its_keys_limit(connect, plan, clock):
    account = plan(1, 100)
    limited = connect(key_of(account, rate_limit={"requests": 2, "period": "hour"}))
    assert [limited.post("/v1/access/check", CHECK).status for _ in range(3)] == [404, 429, 429]
    clock.advance(minutes=1)
    assert limited.post("/v1/access/check", CHECK).status == 404
    clock.advance(minutes=1)
    refused = limited.post("/v1/access/check", CHECK)
    assert refused.error["message"].startswith("The limit of 2 requests an hour of this key is used up.")
    assert refused.error["retryAfter"] == 51 * 60 + 53
    clock.advance(minutes=52)
    assert limited.post("/v1/access/check", CHECK).status == 404


def test_a_limited_public_key_leaves_the_rest_of_the_share_to_others(plan):
    account = plan(10, 100)
    limited = ApiClient(key_of(account, type="public", rate_limit={"requests": 2, "period": "day"}))
    assert statuses(limited, 3) == [200, 200, 429]
    assert limited.get("/v1/content").error["message"].startswith("The limit of 2 requests a day of this key")
    assert statuses(ApiClient(key_of(account, type="public")), 4) == [200, 200, 200, 429]
