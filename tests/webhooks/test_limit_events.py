"""Limits at 80 % or 100 % are reported once per window."""

import json
from unittest.mock import Mock

import pytest

from accounts.events import retention
from accounts.events.models import Event
from accounts.limits import events as limit_events
from accounts.limits.events import LimitNotice
from accounts.plans.services import update_account
from tests import factories
from tests.client import ApiClient

pytestmark = pytest.mark.django_db(transaction=True)


def told():
    limit_events.write_queued()
    return [json.loads(one.data) for one in Event.objects.filter(type="limit.reached").order_by("pk")]


def shares():
    return [(data["period"], data["percent"], data["used"]) for data in told()]


@pytest.fixture
def small():
    return factories.account(plan="enterprise", requests_per_minute=10, requests_per_day=15)


@pytest.fixture
def read(small):
    """Send this many requests that are no checks."""
    client = ApiClient(factories.key_text(small))
    return lambda times: [client.get("/v1/content").status for _ in range(times)]


@pytest.fixture
def ask(connect, small):
    """Send this many checks, and return their statuses."""
    api, item = connect(factories.key_text(small)), factories.content(small)
    body = {"contentId": item.pk, "requester": "a"}
    return lambda times: [api.post("/v1/access/check", body).status for _ in range(times)]


def test_limits_of_plans_send_events_at_80_and_100_percent_once_a_window(ask, small, clock):
    assert ask(7) == [200] * 7
    assert told() == []
    assert ask(1) == [200]
    assert shares() == [("minute", 80, 8)]
    assert ask(4) == [200, 200, 429, 429]
    assert shares() == [("minute", 80, 8), ("minute", 100, 10)]
    clock.advance(minutes=1)
    ask(6)
    assert shares()[2:] == [("day", 80, 12), ("day", 100, 15)]
    [first, *_] = Event.objects.filter(type="limit.reached")
    assert first.object_id == small.pk
    assert told()[0] == {
        "object": "limit", "scope": "plan", "percent": 80, "limit": 10, "used": 8, "period": "minute",
        "reset": int(clock.now.timestamp()) // 60 * 60, "policyId": None, "ruleIndex": None, "requester": None,
    }  # fmt: skip


def test_a_changed_plan_sends_events_again_in_the_same_window(ask, small, clock):
    ask(10)
    assert shares() == [("minute", 80, 8), ("minute", 100, 10)]
    update_account(small, {"requests_per_minute": 20, "requests_per_day": 100})
    assert ask(11) == [200] * 10 + [429]
    assert shares()[2:] == [("minute", 80, 16), ("minute", 100, 20)]


def test_other_requests_count_likewise_and_two_processes_tell_it_once(read, clock):
    read(8)
    assert shares() == [("minute", 80, 8)]
    limit_events.noted.clear()  # as in another process
    read(1)
    assert shares() == [("minute", 80, 8)]
    retention.purge(clock.now)
    assert LimitNotice.objects.count() == 1
    clock.advance(days=1)
    retention.purge(clock.now)
    assert LimitNotice.objects.count() == 0  # notices go with the events


def test_an_exhausted_rule_sends_one_event_for_each_window(connect, account, clock):
    api = connect(factories.key_text(account))
    rule = {**factories.ALLOW_ALL, "rateLimit": {"requests": 2, "period": "hour"}}
    policy = factories.policy(account, rule)
    item = factories.content(account, policy_id=policy.pk)

    def ask(requester, times):
        body = {"contentId": item.pk, "requester": requester}
        return [api.post("/v1/access/check", body)["allowed"] for _ in range(times)]

    assert ask({"id": "org_a", "name": "Acme"}, 1) == [True]
    assert told() == []
    assert ask("org_a", 3) == [True, False, False]
    ask("org_b", 1)
    [data] = told()
    assert data == {
        "object": "limit", "scope": "rule", "percent": 100, "limit": 2, "used": 2, "period": "hour",
        "reset": int(clock.now.timestamp()) // 3600 * 3600 + 3600, "policyId": policy.pk, "ruleIndex": 0,
        "requester": {"id": "org_a", "name": "Acme"},
    }  # fmt: skip
    ask("org_b", 1)
    clock.advance(hours=1)
    ask("org_a", 2)
    assert [data["requester"]["id"] for data in told()] == ["org_a", "org_b", "org_a"]


def test_a_requester_that_was_erased_meanwhile_is_not_named(api, account):
    rule = {**factories.ALLOW_ALL, "rateLimit": {"requests": 1, "period": "month"}}
    item = factories.content(account, policy_id=factories.policy(account, rule).pk)
    for requester in ("ada", "bob"):
        api.post("/v1/access/check", {"contentId": item.pk, "requester": {"id": requester, "name": requester.title()}})
    assert api.delete("/v1/requesters/ada").status == 200
    assert [data["requester"] for data in told()] == [{"id": "bob", "name": "Bob"}]


def test_a_rehearsal_and_a_stranger_use_up_nothing(api, account, clock):
    rule = {**factories.ALLOW_ALL, "rateLimit": {"requests": 1, "period": "hour"}}
    item = factories.content(account, policy_id=factories.policy(account, rule).pk)
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "a", "dryRun": True})
    assert told() == []
    assert [ApiClient(None).get("/v1/content").status for _ in range(61)][-1] == 429
    assert not limit_events.waiting


def test_events_that_cannot_be_written_are_sent_later(read, clock, monkeypatch):
    read(10)
    with monkeypatch.context() as patch:
        patch.setattr(limit_events.recording, "write_events", Mock(side_effect=RuntimeError))
        with pytest.raises(RuntimeError):
            limit_events.write_queued()
    assert LimitNotice.objects.count() == 0
    assert shares() == [("minute", 80, 8), ("minute", 100, 10)]
