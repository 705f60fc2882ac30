"""A key's expiry or changed permissions apply to checks whose body arrives later.

In each test the head arrives after the change's reply, at a process that still caches the old key. While the body is
on its way, another key's check makes that process notice the change.
"""

import orjson
import pytest
from asgiref.sync import async_to_sync, sync_to_async

from accounts.keys import services as key_services
from accounts.models import ApiKey
from accounts.plans import epochs
from accounts.plans import services as plan_services
from analytics.models import AccessEvent
from tests import factories
from tests.client import Reply

CHECK, BATCH = "/v1/access/check", "/v1/access/check/batch"


@pytest.fixture
def item(account):
    return factories.content(account, policy_id=factories.policy(account, factories.ALLOW_ALL).pk)


@pytest.fixture
def key(account):
    """The key that changes, and its text."""
    return factories.api_key(account)


@pytest.fixture
def send_slowly(api, application, item, key):
    """Return a function that sends a head with the key, calls `meanwhile`, and then sends the body."""

    def send(path, body, meanwhile):
        scope = {
            "type": "http",
            "scheme": "http",
            "method": "POST",
            "path": path,
            "query_string": b"",
            "headers": [(b"host", b"localhost"), (b"authorization", b"Bearer " + key[1].encode())],
            "client": ("127.0.0.1", 12345),
            "server": ("localhost", 80),
        }
        sent = []

        async def receive():
            await sync_to_async(meanwhile)()
            return {"type": "http.request", "body": body}

        async def keep(message):
            sent.append(message)

        async_to_sync(application)(scope, receive, keep)
        return sent

    def send_and_read(path, fields, change):
        def tell_of_it():
            assert api.post(CHECK, {"contentId": item.pk, "requester": "another"}).status in (200, 429)

        plain = {"contentId": item.pk, "requester": "org_acme"}
        warm = send(CHECK, orjson.dumps(plain), lambda: None)
        assert warm[0]["status"] == 200
        AccessEvent.objects.all().delete()
        change()
        body = fields if isinstance(fields, bytes) else orjson.dumps(fields)
        start, rest = send(path, body, tell_of_it)
        return Reply(Response(start, rest["body"]))

    return send_and_read


class Response:
    def __init__(self, start, body):
        self.status_code = start["status"]
        self.headers = {name.decode().title(): value.decode() for name, value in start["headers"]}
        self.body = body

    def getvalue(self):
        return self.body


@pytest.fixture(params=["check", "batch", "dry run", "draft", "unknown item", "bad body"])
def request_of_any_kind(request, item):
    """Return path and body of each kind of check request."""
    check = {"contentId": item.pk, "requester": "org_acme"}
    return {
        "check": (CHECK, check),
        "batch": (BATCH, {"requester": "org_acme", "checks": [{"contentId": item.pk}]}),
        "dry run": (CHECK, {**check, "dryRun": True, "explain": True}),
        "draft": (CHECK, {**check, "dryRun": True, "policy": {"rules": [factories.ALLOW_ALL]}}),
        "unknown item": (CHECK, {**check, "contentId": "cnt_unknown"}),
        "bad body": (CHECK, b"{"),
    }[request.param]


def change_key(key, **fields):
    ApiKey.objects.filter(pk=key.pk).update(**fields)
    epochs.bump(key.account_id, {key.pk})


def recorded_of_the_key():
    return AccessEvent.objects.exclude(requester__requester_id="another").count()


@pytest.mark.parametrize("end", [key_services.revoke_api_key, key_services.rotate_api_key])
def test_a_key_that_has_ended_gets_no_decision(send_slowly, request_of_any_kind, key, end):
    reply = send_slowly(*request_of_any_kind, lambda: end(key[0]))
    assert (reply.status, reply.error["code"]) == (401, "invalid_api_key")
    assert recorded_of_the_key() == 0


def test_a_key_that_may_no_longer_check_gets_no_decision(send_slowly, request_of_any_kind, key):
    reply = send_slowly(*request_of_any_kind, lambda: change_key(key[0], permissions=["content:read"]))
    assert (reply.status, reply.error["code"]) == (403, "insufficient_permissions")
    assert recorded_of_the_key() == 0


def test_a_key_that_is_no_longer_for_this_address_gets_no_decision(send_slowly, request_of_any_kind, key):
    reply = send_slowly(*request_of_any_kind, lambda: change_key(key[0], allowed_ips=["203.0.113.0/24"]))
    assert (reply.status, reply.error["code"]) == (403, "ip_not_allowed")
    assert recorded_of_the_key() == 0


def test_a_smaller_plan_holds(send_slowly, request_of_any_kind, account):
    smaller = {"requests_per_minute": 1, "requests_per_day": 1}  # the check before the change has used it up
    reply = send_slowly(*request_of_any_kind, lambda: plan_services.update_account(account, smaller))
    assert (reply.status, reply.error["code"]) == (429, "rate_limit_exceeded")
    assert recorded_of_the_key() == 0


def test_a_key_that_expires_before_the_body_is_there_gets_no_decision(
    clock, send_slowly, request_of_any_kind, key, monkeypatch
):
    change_key(key[0], expires_at=clock.now.replace(minute=30))
    reply = send_slowly(*request_of_any_kind, lambda: clock.advance(hours=1))
    assert (reply.status, reply.error["code"]) == (401, "invalid_api_key")


def test_a_request_whose_key_is_read_again_counts_once(send_slowly, item, account, clock):
    roomy = {"requests_per_minute": 3, "requests_per_day": 10}  # one warms up, one makes the process notice the change
    check = {"contentId": item.pk, "requester": "org_acme"}
    reply = send_slowly(CHECK, check, lambda: plan_services.update_account(account, roomy))
    assert (reply.status, reply.headers["X-Ratelimit-Remaining"]) == (200, "0")


def test_a_key_that_may_do_more_by_now_is_let_in(send_slowly, api, application, account, item, key):
    change_key(key[0], allowed_ips=["127.0.0.1"])
    check = {"contentId": item.pk, "requester": "org_acme"}
    assert send_slowly(CHECK, check, lambda: change_key(key[0], allowed_ips=[])).status == 200
