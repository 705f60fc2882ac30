from datetime import datetime
from ipaddress import ip_address

import pytest

from accounts.keys import keytext
from accounts.keys import services as accounts
from accounts.limits.limiter import limiter, thread_pool_owner
from accounts.limits.windows import plan_hit
from accounts.models import ApiKey
from tests import factories
from tests.client import ApiClient

pytestmark = pytest.mark.usefixtures("db", "clock")

CHECK = {"contentId": "cnt_00000000000000000000000000", "requester": "org_acme"}
PER_MINUTE = {"starter": 60, "professional": 300}


def headers(reply):
    return tuple(int(reply.headers[f"X-RateLimit-{name}"]) for name in ("Limit", "Remaining", "Reset"))


def unix(text):
    return int(datetime.fromisoformat(text).timestamp())


def enterprise(per_minute, per_day):
    return factories.account(plan="enterprise", requests_per_minute=per_minute, requests_per_day=per_day)


def client_for(account, **fields):
    """Return a client of the account with a key that has these fields."""
    return ApiClient(factories.key_text(account, **fields))


def statuses(api, count, address="127.0.0.1"):
    api.client.defaults["REMOTE_ADDR"] = address
    return [api.get("/v1/content").status for _ in range(count)]


def checked(api, count):
    """Return the statuses of so many checks."""
    return [api.post("/v1/access/check", CHECK).status for _ in range(count)]


def test_a_plan_has_its_limit_per_minute_and_a_change_of_plan_holds_at_once():
    for plan, limit in PER_MINUTE.items():
        api = client_for(factories.account(plan=plan))
        replies = [api.get("/v1/api-keys/x") for _ in range(limit + 1)]
        assert [reply.status for reply in replies] == [404] * limit + [429], plan
        assert headers(replies[0]) == (limit, limit - 1, unix("2026-03-04T05:07:00Z")), plan
        assert headers(replies[-2]) == headers(replies[-1]) == (limit, 0, unix("2026-03-04T05:07:00Z")), plan
    account = factories.account(plan="starter")
    api = client_for(account)
    assert headers(api.get("/v1/content"))[0] == 60
    account.plan = "professional"
    account.save()
    assert headers(api.get("/v1/content"))[:2] == (300, 298)


def test_a_refused_request_says_how_long_to_wait(clock):
    api = client_for(enterprise(1, 100))
    api.get("/v1/content")
    reply = api.get("/v1/content")
    assert (reply.status, reply.error["code"], reply.error["type"]) == (429, "rate_limit_exceeded", "rate_limit_error")
    assert reply.error["retryAfter"] == 53
    assert reply.headers["Retry-After"] == "53"
    assert reply.headers["X-Request-Id"]

    clock.set("2026-03-04T05:06:59.999Z")
    api.get("/v1/content")
    assert api.get("/v1/content").error["retryAfter"] == 1


def test_a_new_minute_and_a_new_day_begin_at_nothing(clock):
    api = client_for(enterprise(2, 100))
    assert statuses(api, 3) == [200, 200, 429]
    clock.set("2026-03-04T05:06:59.999Z")
    assert api.get("/v1/content").status == 429
    clock.set("2026-03-04T05:07:00Z")
    assert statuses(api, 3) == [200, 200, 429]

    api = client_for(enterprise(3, 5))
    for minute, passed in (("07", 3), ("08", 2), ("09", 0)):
        clock.set(f"2026-03-04T05:{minute}:00Z")
        assert statuses(api, 4) == [200] * passed + [429] * (4 - passed)
    reply = api.get("/v1/content")
    assert headers(reply) == (5, 0, unix("2026-03-05T00:00:00Z"))
    assert reply.error["retryAfter"] == unix("2026-03-05T00:00:00Z") - unix("2026-03-04T05:09:00Z")
    clock.set("2026-03-05T00:00:00Z")
    assert api.get("/v1/content").status == 200


def test_the_headers_are_of_the_window_that_has_less_left(clock):
    api = client_for(enterprise(3, 5))
    assert headers(api.get("/v1/content"))[:2] == (3, 2)
    api.get("/v1/content")
    clock.advance(minutes=1)
    assert headers(api.get("/v1/content"))[:2] in {(5, 2), (3, 2)}
    assert headers(api.get("/v1/content"))[:2] in {(5, 1), (3, 1)}
    clock.advance(minutes=1)
    assert headers(api.get("/v1/content")) == (5, 0, unix("2026-03-05T00:00:00Z"))


def test_the_limit_comes_after_the_key_and_only_requests_that_it_refuses_consume_nothing(clock):
    api = client_for(enterprise(2, 3))
    assert statuses(api, 10) == [200] * 2 + [429] * 8
    clock.advance(minutes=1)
    assert statuses(api, 2) == [200, 429]

    api = client_for(enterprise(3, 100))
    assert api.post("/v1/content", b"{").status == 400
    assert api.get("/v1/content/unknown").status == 404
    assert api.get("/v1/content", unknown="1").status == 400
    assert api.get("/v1/content").status == 429
    account = enterprise(1, 9)
    powerless = client_for(account, permissions=[])
    assert [powerless.post("/v1/content", b"{").status for _ in range(2)] == [403, 429]
    account = enterprise(1, 9)
    elsewhere = client_for(account, allowed_ips=["203.0.113.9"])
    assert statuses(elsewhere, 3) == [403, 403, 403]
    assert client_for(account).get("/v1/content").status == 200


def test_every_method_of_every_key_counts_in_its_accounts_limit():
    account = enterprise(3, 100)
    first, second = (client_for(account) for _ in range(2))
    assert [client.get("/v1/content").status for client in (first, second, first, second)] == [200, 200, 200, 429]
    first, second = client_for(enterprise(1, 100)), client_for(enterprise(1, 100))
    assert [client.get("/v1/content").status for client in (first, first, second)] == [200, 429, 200]
    api = client_for(enterprise(4, 100))
    api.request("HEAD", "/v1/content")
    item = api.post("/v1/content", {"title": "x"})
    api.patch(f"/v1/content/{item['id']}", {"title": "y"})
    assert headers(api.delete(f"/v1/content/{item['id']}"))[1] == 0
    assert api.request("HEAD", "/v1/content").status == 429


def test_without_a_valid_key_60_a_minute_are_answered_per_address(anonymous, clock, api):
    assert headers(anonymous.get("/v1/content")) == (60, 59, unix("2026-03-04T05:07:00Z"))
    wrong = ApiClient("svc_sk_nonsense")
    assert statuses(wrong, 59) == [401] * 59
    refused = anonymous.get("/v1/content")
    assert refused.status_and_code == (429, "rate_limit_exceeded")
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


def test_uncounted_requests_cost_no_query_and_show_the_remaining_limit(django_assert_num_queries):
    api = client_for(enterprise(5, 100))
    api.get("/v1/content")
    for reply in (api.get("/v1/nothing"), api.request("PUT", "/v1/content"), api.get("/v1/content/")):
        assert headers(reply)[:2] == (5, 4)

    for method, path in (("GET", "/v1/nothing"), ("PUT", "/v1/content"), ("GET", "/v1/content/")):
        known, unknown = client_for(enterprise(5, 100)), client_for(enterprise(5, 100))
        known.get("/v1/content")
        for api in (known, unknown):
            with django_assert_num_queries(0):
                assert api.request(method, path).status in (404, 405)


def test_a_flood_of_unknown_paths_by_keys_that_were_never_seen_counts_by_address():
    replies = [ApiClient(keytext.generate("secret")).get("/v1/nothing") for _ in range(61)]
    assert [reply.status for reply in replies] == [404] * 60 + [429]
    assert headers(replies[-1])[:2] == (60, 0)
    assert replies[-1].error["code"] == "rate_limit_exceeded"
    assert replies[-1].headers["Retry-After"] == str(replies[-1].error["retryAfter"])


def test_a_browsers_preflight_counts_nothing(anonymous):
    preflight = {"Origin": "https://example.com", "Access-Control-Request-Method": "POST"}
    for _ in range(3):
        assert anonymous.request("OPTIONS", "/v1/access/check", headers=preflight).status == 200
    assert headers(anonymous.get("/v1/content"))[:2] == (60, 59)


@pytest.fixture
def elsewhere(account, clock):
    """A client whose key was used from an allowed address, and is now used from another."""
    api = client_for(account, allowed_ips=["203.0.113.9"])
    api.client.defaults["REMOTE_ADDR"] = "203.0.113.9"
    assert api.get("/v1/content").status == 200
    api.client.defaults["REMOTE_ADDR"] = "198.51.100.7"
    return api


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "once"}])
def test_a_flood_from_an_address_outside_a_keys_list_counts_by_address(elsewhere, headers):
    check = {"contentId": "cnt_unknown", "requester": "org_acme"}
    replies = [elsewhere.post("/v1/access/check", check, headers=headers) for _ in range(61)]
    assert [reply.status for reply in replies] == [403] * 60 + [429]


def test_a_request_from_outside_a_keys_list_shows_and_takes_nothing_of_its_account(elsewhere, account):
    assert headers(elsewhere.get("/v1/nothing"))[0] == 60
    header = elsewhere.headers["Authorization"]
    assert thread_pool_owner(header, ip_address("203.0.113.9")) == f"account:{account.pk}"
    assert thread_pool_owner(header, ip_address("198.51.100.7")) == "address:198.51.100.7"


def test_requests_take_threads_of_their_account_or_of_its_public_keys_until_their_key_ends(api, account):
    api.get("/v1/content")
    api.get("/v1/openapi.json")
    assert thread_pool_owner(api.headers["Authorization"], ip_address("127.0.0.1")) == f"account:{account.pk}"
    header, address = api.headers["Authorization"], ip_address("127.0.0.1")
    api.get("/v1/content")
    assert thread_pool_owner(header, address) == f"account:{account.pk}"
    accounts.revoke_api_key(ApiKey.objects.get(account=account))
    assert api.get("/v1/content").status == 401
    assert thread_pool_owner(header, address) == "address:127.0.0.1"
    text, address = factories.key_text(account, type="public"), ip_address("127.0.0.1")
    assert ApiClient(text).get("/v1/content").status == 200
    assert thread_pool_owner(f"Bearer {text}", address) == f"public:account:{account.pk}"


def used(account):
    [counts] = limiter.look([plan_hit(account.pk, *account.limits)])
    return counts


def test_public_keys_share_half_of_the_plans_minute_of_which_secret_keys_take_nothing():
    account = enterprise(5, 100)
    pages = [client_for(account, type="public") for _ in range(2)]
    assert [statuses(page, 2) for page in pages] == [[200, 200], [429, 429]]
    refused = pages[0].get("/v1/content")
    assert refused.error["message"].startswith("The limit of 2 requests a minute for the account's public keys is")
    assert headers(refused)[:2] == (2, 0)
    assert refused.error["retryAfter"] == 53
    assert statuses(client_for(account), 6) == [200] * 5 + [429]
    account = enterprise(4, 100)
    assert statuses(client_for(account), 5) == [200] * 4 + [429]
    assert statuses(client_for(account, type="public"), 3) == [200, 200, 429]
    assert statuses(client_for(enterprise(1, 1), type="public"), 2) == [200, 429]
    page = client_for(enterprise(10, 100), type="public")
    page.get("/v1/content")
    assert headers(page.get("/v1/nothing"))[:2] == (5, 4)


def test_public_keys_share_half_of_the_plans_day(clock):
    account = enterprise(6, 8)
    page = client_for(account, type="public")
    assert statuses(page, 4) == [200, 200, 200, 429]
    clock.advance(minutes=1)
    assert statuses(page, 2) == [200, 429]
    assert headers(page.get("/v1/content"))[:2] == (4, 0)
    assert statuses(client_for(account), 6) == [200] * 6


def test_an_address_uses_60_a_minute_of_the_share():
    page = client_for(enterprise(1_000, 10_000), type="public")
    assert statuses(page, 61, "2001:db8:0:1::7") == [200] * 60 + [429]
    assert "60 requests a minute with public keys from one address" in page.get("/v1/content").error["message"]
    assert statuses(page, 1, "2001:db8:0:1::8") == [429]  # of the same /64
    assert statuses(page, 1, "2001:db8:0:2::7") == [200]
    assert statuses(page, 1, "203.0.113.9") == [200]


def test_the_headers_describe_the_limit_that_ends_first():
    page = client_for(enterprise(300, 10_000), type="public")
    reply = page.get("/v1/content")
    assert headers(reply)[:2] == (60, 59)
    assert reply.headers["RateLimit-Policy"] == '"minute";q=150;w=60, "day";q=5000;w=86400, "address";q=60;w=60'
    assert reply.headers["RateLimit"] == '"address";r=59;t=53'
    for number in range(100):
        statuses(page, 1, f"203.0.113.{number}")
    assert headers(page.get("/v1/content"))[:2] == (150, 48)
    assert page.get("/v1/content").headers["RateLimit"] == '"minute";r=47;t=53'


def test_every_request_of_a_public_key_counts_in_its_share(connect):
    account = enterprise(4, 100)
    page = connect(factories.key_text(account, type="public"))
    assert checked(page, 3) == [403, 403, 429]
    assert page.get("/v1/content").status == 429
    assert used(account) == [0, 0]
    asking = connect(factories.key_text(account))
    assert checked(asking, 5) == [404] * 4 + [429]


def test_a_key_may_have_a_limit_of_its_own_below_the_plans(connect):
    account = enterprise(5, 100)
    limited = connect(factories.key_text(account, rate_limit={"requests": 2, "period": "minute"}))
    replies = [limited.post("/v1/access/check", CHECK) for _ in range(3)]
    assert [reply.status for reply in replies] == [404, 404, 429]
    assert [headers(reply)[:2] for reply in replies] == [(2, 1), (2, 0), (2, 0)]
    assert replies[0].headers["RateLimit-Policy"] == '"minute";q=5;w=60, "day";q=100;w=86400, "key";q=2;w=60'
    assert replies[0].headers["RateLimit"] == '"key";r=1;t=53'
    assert replies[2].error["message"].startswith("The limit of 2 requests a minute of this key is used up.")
    assert used(account) == [2, 2]  # the refused request consumed nothing of the plan
    other = connect(factories.key_text(account))
    assert checked(other, 4) == [404] * 3 + [429]


def test_a_request_that_the_plan_refuses_consumes_nothing_of_its_keys_limit(connect, clock):
    account = enterprise(1, 100)
    limited = connect(factories.key_text(account, rate_limit={"requests": 2, "period": "hour"}))
    assert checked(limited, 3) == [404, 429, 429]
    clock.advance(minutes=1)
    assert limited.post("/v1/access/check", CHECK).status == 404
    clock.advance(minutes=1)
    refused = limited.post("/v1/access/check", CHECK)
    assert refused.error["message"].startswith("The limit of 2 requests an hour of this key is used up.")
    assert refused.error["retryAfter"] == 51 * 60 + 53
    clock.advance(minutes=52)
    assert limited.post("/v1/access/check", CHECK).status == 404


def test_a_limited_public_key_leaves_the_rest_of_the_share_to_others():
    account = enterprise(10, 100)
    limited = client_for(account, type="public", rate_limit={"requests": 2, "period": "day"})
    assert statuses(limited, 3) == [200, 200, 429]
    assert limited.get("/v1/content").error["message"].startswith("The limit of 2 requests a day of this key")
    assert statuses(client_for(account, type="public"), 4) == [200, 200, 200, 429]
