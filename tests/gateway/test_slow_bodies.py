"""A key's expiry or changed permissions apply to checks whose body arrives later.

In each test the head arrives after the change's reply, at a process that still caches the old key. While the body is
on its way, another key's check makes that process notice the change.
"""

import pytest
from asgiref.sync import sync_to_async

from accounts.keys import services as key_services
from accounts.models import ApiKey
from accounts.plans import epochs
from accounts.plans import services as plan_services
from analytics.models import AccessEvent
from tests import factories
from tests.ways import GatewayClient, Response

CHECK, BATCH = "/v1/access/check", "/v1/access/check/batch"


@pytest.fixture
def item(account):
    return factories.content(account, policy_id=factories.policy(account, factories.ALLOW_ALL).pk)


@pytest.fixture
def key(account):
    """The key that changes, and its text."""
    return factories.api_key(account)


class SlowClient(GatewayClient):
    """A client whose bodies arrive after a call of `meanwhile`."""

    def meanwhile(self):
        """Let nothing happen."""

    async def exchange(self, scope, body):
        sent = []

        async def receive():
            await sync_to_async(self.meanwhile)()
            return {"type": "http.request", "body": body}

        async def send(message):
            sent.append(message)

        await self.application(scope, receive, send)
        return Response(sent[0], sent[1]["body"])


@pytest.fixture
def send_slowly(api, application, item, key):
    """Return a function that makes a change after a check with the key, and then sends a request slowly."""
    client = SlowClient(key[1], application)

    def check_with_another_key():
        assert api.post(CHECK, {"contentId": item.pk, "requester": "another"}).status in (200, 429)

    def send(path, body, change):
        assert client.post(CHECK, {"contentId": item.pk, "requester": "org_acme"}).status == 200
        AccessEvent.objects.all().delete()
        change()
        client.meanwhile = check_with_another_key
        return client.post(path, body)

    return send


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
    epochs.invalidate(key.account_id, {key.pk})


ONE_REQUEST = {"requests_per_minute": 1, "requests_per_day": 1}  # the check before the change has used it up
CHANGES = {
    "a revoked key": (key_services.revoke_api_key, 401, "invalid_api_key"),
    "a rotated key": (key_services.rotate_api_key, 401, "invalid_api_key"),
    "a key that may no longer check": (
        lambda key: change_key(key, permissions=["content:read"]), 403, "insufficient_permissions"
    ),
    "a key for other addresses": (
        lambda key: change_key(key, allowed_ips=["203.0.113.0/24"]), 403, "ip_not_allowed"
    ),
    "a smaller plan": (
        lambda key: plan_services.update_account(key.account, ONE_REQUEST), 429, "rate_limit_exceeded"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "status", "code"), CHANGES.values(), ids=CHANGES)
def test_a_change_refuses_a_check_whose_body_arrives_later(
    send_slowly, request_of_any_kind, key, change, status, code
):
    reply = send_slowly(*request_of_any_kind, lambda: change(key[0]))
    assert (reply.status, reply.error["code"]) == (status, code)
    assert not AccessEvent.objects.exclude(requester__requester_id="another").exists()


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
    assert (reply.status, reply.headers["X-RateLimit-Remaining"]) == (200, "0")


def test_a_key_that_may_do_more_by_now_is_let_in(send_slowly, item, key):
    change_key(key[0], allowed_ips=["127.0.0.1"])
    check = {"contentId": item.pk, "requester": "org_acme"}
    assert send_slowly(CHECK, check, lambda: change_key(key[0], allowed_ips=[])).status == 200
