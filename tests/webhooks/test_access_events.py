"""Decision events: one per requester, reason and minute, for endpoints that subscribe to them by name."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from accounts.events.models import Event
from accounts.webhooks import recovery
from accounts.webhooks.models import WebhookDelivery, WebhookEndpoint
from analytics.events import access_summaries
from analytics.events.retention import purge_events
from analytics.models import AccessEvent
from tests import factories
from tests.lock_waits import late_copy

PATH = "/v1/webhooks"


def told(clock, **after):
    """Return the events after this time; a second run adds none."""
    clock.advance(**(after or {"seconds": 75}))
    access_summaries.write_due_summaries()
    access_summaries.write_due_summaries()
    events = Event.objects.filter(type__startswith="access.").order_by("pk")
    return [(one.type, json.loads(one.data)) for one in events]


def sums(events):
    return sorted(
        (name, data["reason"] or "", (data["requester"] or {}).get("id"), data["count"]) for name, data in events
    )


def ask(api, item, requester="org_a", **fields):
    return api.post("/v1/access/check", {"contentId": item.pk, "requester": requester, **fields}).body


@pytest.fixture
def closed(account):
    return factories.content(account, policy_id=factories.policy(account).pk)


@pytest.mark.django_db(transaction=True)
def test_denials_of_a_minute_are_one_event_for_each_requester_and_reason(connect, account, clock):
    api = connect(factories.key_text(account))
    closed = factories.content(account, policy_id=factories.policy(account).pk)
    endpoint, _ = factories.endpoint(account, events=["access.denied"])
    for requester in ("org_a", "org_b", "org_a"):
        assert ask(api, closed, requester)["reason"] == "no_license"
    ask(api, factories.content(account), {"id": "org_a", "name": "Acme"})  # has no policy
    ask(api, closed, dryRun=True)
    first, *_ = events = told(clock)
    assert sums(events) == [
        ("access.denied", "no_license", "org_a", 2),
        ("access.denied", "no_license", "org_b", 1),
        ("access.denied", "no_policy", "org_a", 1),
    ]
    assert first[1] == {
        "object": "access_summary", "webhookId": endpoint.pk, "allowed": False, "reason": "no_license",
        "requester": {"id": "org_a", "name": "Acme"}, "minute": "2026-03-04T05:06:00.000000Z", "count": 2,
        "first": "2026-03-04T05:06:07.250000Z", "last": "2026-03-04T05:06:07.250000Z",
    }  # fmt: skip
    assert {one.endpoint_id for one in WebhookDelivery.objects.all()} == {endpoint.pk}
    assert set(first[1]) == set(access_summaries.EXAMPLE)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's commits wait for nothing")
@pytest.mark.django_db(transaction=True)
def test_a_denial_committed_minutes_later_is_sent(api, account, closed, clock):
    clock.now = datetime.now(UTC)
    factories.endpoint(account, events=["access.denied"])
    ask(api, closed)
    with late_copy(AccessEvent.objects.get()) as session:
        assert told(clock, minutes=5) == []
        session.commit()
    assert [data["count"] for _, data in told(clock)] == [2]


def test_each_minute_has_its_own_event_after_its_end(api, account, closed, clock):
    factories.endpoint(account, events=["access.*"])
    ask(api, closed)
    assert told(clock, seconds=55) == []
    ask(api, closed)
    ask(api, closed)
    assert [data["count"] for _, data in told(clock, minutes=3)] == [1, 2]
    assert len(told(clock, minutes=3)) == 2


def test_other_endpoints_hear_nothing_of_decisions(api, account, closed, clock, other_account):
    factories.endpoint(account, events=["*"])
    factories.endpoint(account, events=["content.*"])
    ask(api, closed)
    assert told(clock) == []
    factories.endpoint(other_account, events=["access.*"])
    ask(api, closed)
    assert told(clock) == []


def test_allowed_decisions_are_sent_to_endpoints_that_ask_for_them(api, account, closed, clock):
    opened = factories.content(account, policy_id=factories.policy(account, factories.ALLOW_ALL).pk)
    factories.endpoint(account, events=["access.allowed"])
    ask(api, closed)
    ask(api, opened)
    [(name, data)] = told(clock)
    assert (name, data["allowed"], data["reason"], data["count"]) == ("access.allowed", True, None, 1)


@pytest.mark.parametrize(("narrowed", "expected"), [
    (None, 5), ({}, 5), ({"policyIds": ["{first}"]}, 3), ({"requesterIds": ["org_b", "org_c"]}, 2),
    ({"reasons": ["no_policy"]}, 1), ({"policyIds": ["{first}"], "requesterIds": ["org_b"]}, 1),
    ({"policyIds": ["{first}"], "reasons": ["no_policy"]}, 0),
])  # fmt: skip
def test_an_endpoint_narrows_them_by_policy_requester_and_reason(api, account, closed, clock, narrowed, expected):
    other = factories.content(account, policy_id=factories.policy(account, factories.DENY_ALL).pk)
    if narrowed and "policyIds" in narrowed:
        narrowed = {**narrowed, "policyIds": [closed.policy_id]}
    made = api.post(PATH, {"url": "https://a.example/", "events": ["access.denied"], "accessFilter": narrowed})
    assert made["accessFilter"] == narrowed
    for item, requester in [(closed, "org_a"), (closed, "org_a"), (closed, "org_b"), (other, "org_b")]:
        ask(api, item, requester)
    ask(api, factories.content(account), "org_d")
    assert sum(data["count"] for _, data in told(clock)) == expected


def test_a_filter_by_requester_follows_a_merge(api, account, closed, clock):
    expected = {"org_a": 4, "org_b": 4, "org_c": 1, "nobody": 0}
    endpoints = {}
    for name in expected:
        body = {"url": "https://a.example/", "events": ["access.denied"], "accessFilter": {"requesterIds": [name]}}
        endpoints[api.post(PATH, body)["id"]] = name
    for requester in ("org_a", "org_b", "org_c"):
        ask(api, closed, requester)
    assert api.post("/v1/requesters/org_a/merge", {"into": "org_b"}).status == 200
    for requester in ("org_a", "org_b"):
        ask(api, closed, requester)
    counts = dict.fromkeys(expected, 0)
    for _, data in told(clock):
        counts[endpoints[data["webhookId"]]] += data["count"]
    assert counts == expected


def test_a_filter_that_means_nothing_is_refused(api):
    for narrowed, param in [
        ({"policyIds": ["cnt_1"]}, "accessFilter.policyIds[0]"), ({"policyIds": []}, "accessFilter.policyIds"),
        ({"reasons": ["no_licence"]}, "accessFilter.reasons[0]"), ("all", "accessFilter"),
        ({"requesterIds": [1]}, "accessFilter.requesterIds[0]"), ({"requester": ["a"]}, "accessFilter.requester"),
    ]:  # fmt: skip
        reply = api.post(PATH, {"url": "https://a.example/", "accessFilter": narrowed})
        assert (reply.status, reply.error["param"]) == (422, param)


def test_each_endpoint_has_events_of_its_own_and_recovers_no_others(api, account, closed, clock):
    since = clock.now
    first, _ = factories.endpoint(account, events=["access.denied"])
    second, _ = factories.endpoint(account, events=["access.denied"], access_filter={"reasons": ["no_policy"]})
    ask(api, closed)
    assert [data["webhookId"] for _, data in told(clock)] == [first.pk]
    assert recovery.recover(second, since).events == 0
    WebhookDelivery.objects.all().delete()
    assert recovery.recover(first, since).events == 1


def test_an_endpoint_hears_of_nothing_from_before_it_asked_or_while_it_is_disabled(api, account, closed, clock):
    ask(api, closed)
    clock.advance(minutes=2)
    made = api.post(PATH, {"url": "https://a.example/", "events": ["content.*"]})
    path = f"{PATH}/{made['id']}"
    ask(api, closed)
    clock.advance(minutes=2)
    api.patch(path, {"events": ["access.denied"]})
    assert told(clock) == []
    api.patch(path, {"status": "disabled"})
    ask(api, closed)
    clock.advance(minutes=2)
    api.patch(path, {"status": "enabled"})
    assert told(clock) == []
    ask(api, closed, "org_z")
    assert [data["requester"]["id"] for _, data in told(clock)] == ["org_z"]


def test_many_requesters_in_a_minute_are_bounded_and_none_is_left_out_of_the_count(
    api, account, closed, clock, monkeypatch
):
    monkeypatch.setattr(access_summaries, "MAX_SUMMARIES", 2)
    factories.endpoint(account, events=["access.*"])
    opened = factories.content(account, policy_id=factories.policy(account, factories.ALLOW_ALL).pk)
    for requester, count in (("org_a", 3), ("org_b", 2), ("org_c", 1), ("org_d", 1)):
        for _ in range(count):
            ask(api, closed, requester)
    ask(api, opened, "org_e")
    assert sums(told(clock)) == [
        ("access.allowed", "", None, 1),
        ("access.denied", "", None, 2),
        ("access.denied", "no_license", "org_a", 3),
        ("access.denied", "no_license", "org_b", 2),
    ]


def test_a_quiet_night_is_caught_up_with_in_one_look(api, account, closed, clock):
    endpoint, _ = factories.endpoint(account, events=["access.denied"])
    ask(api, closed)
    clock.advance(hours=20)
    ask(api, closed, "org_b")
    clock.advance(seconds=75)
    assert [access_summaries.write_due_summaries(), access_summaries.write_due_summaries()] == [2, 0]
    endpoint.refresh_from_db()
    assert clock.now - endpoint.access_told_until < timedelta(minutes=3)


def test_overdue_summaries_are_sent_before_their_month_is_purged(api, account, closed, clock):
    clock.now = datetime(2026, 3, 31, 21, 30, tzinfo=UTC)
    factories.endpoint(account, events=["access.denied"])
    for _ in range(100):
        ask(api, closed)
        clock.advance(seconds=75)
    clock.now = datetime(2026, 4, 1, 1, 5, tzinfo=UTC)
    purge_events(clock.now)
    assert not AccessEvent.objects.filter(created__lt=datetime(2026, 4, 1, tzinfo=UTC)).exists()
    assert len(told(clock)) == 100


def test_two_processes_tell_a_minute_once(api, account, closed, clock):
    factories.endpoint(account, events=["access.denied"])
    ask(api, closed)
    clock.advance(minutes=2)
    [endpoint] = WebhookEndpoint.objects.all()
    begin = endpoint.access_told_until
    assert [access_summaries.write_minute(endpoint, begin) for _ in "ab"] == [1, 0]


@pytest.mark.parametrize("is_erased_again", [False, True])
def test_a_requester_erased_during_a_summary_is_sent_under_the_pseudonym_without_a_name(
    api, account, closed, clock, monkeypatch, is_erased_again
):
    erased = "org_a"
    if is_erased_again:
        api.post("/v1/requesters", {"id": "org_a"})
        erased = api.delete("/v1/requesters/org_a")["pseudonym"]
        api.patch(f"/v1/requesters/{erased}", {"name": "Acme"})
    factories.endpoint(account, events=["access.denied"])
    ask(api, closed, {"id": erased, "name": "Acme"})
    read = access_summaries.build_events

    def read_before_the_erasure(*of):
        events = read(*of)
        api.delete(f"/v1/requesters/{erased}")
        return events

    monkeypatch.setattr(access_summaries, "build_events", read_before_the_erasure)
    [(_, data)] = told(clock)
    [person] = api.get("/v1/requesters")["data"]
    assert data["requester"] == {"id": person["id"], "name": None}
    assert person["id"].startswith("erased_")
