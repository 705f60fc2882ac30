"""Recovery resends failed and pending deliveries, or every missed event since a chosen time."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.events.models import Event
from accounts.models import AuditEntry
from accounts.webhooks import queue, services
from accounts.webhooks.models import WebhookDelivery, WebhookEndpoint
from tests import factories
from tests.outbound.receivers import receiver
from tests.webhooks.delivering import answering, bodies, deliver, endpoint_at

LONG_AGO = "2020-01-01"


@pytest.fixture
def once(settings):
    """Do not retry failed deliveries."""
    settings.WEBHOOK_RETRY_SCHEDULE = [0]


@pytest.fixture
def broken(once):
    with receiver(answering(500)) as there:
        yield there


def recover(api, endpoint, **body):
    reply = api.post(f"/v1/webhooks/{endpoint.pk}/recover", body)
    assert reply.status == 200, reply.body
    return reply.body


def waiting_for(endpoint):
    waiting = WebhookDelivery.objects.filter(endpoint=endpoint, due_at__isnull=False)
    return {one.event.object_id for one in waiting.select_related("event")}


def heading(event):
    return {name: event[name] for name in ("id", "type", "created")}


def test_only_failed_deliveries_are_sent_again(api, account, broken):
    for _ in range(3):
        factories.content(account)
    endpoint, _ = endpoint_at(broken, account, events=["content.*"])
    assert recover(api, endpoint, since=None)["events"] == 0
    failed = [factories.content(account).pk for _ in range(2)]
    deliver()
    later, earlier = api.get("/v1/events", type="content.created", limit=2)["data"]
    assert recover(api, endpoint) == {
        "object": "webhook_recovery", "webhookId": endpoint.pk, "since": None, "dryRun": False, "events": 2,
        "firstEvent": heading(earlier), "lastEvent": heading(later),
    }  # fmt: skip
    assert waiting_for(endpoint) == set(failed)


def test_deliveries_abandoned_by_disabling_are_sent_again(api, account):
    endpoint, _ = factories.endpoint(account)
    given_up = factories.content(account).pk
    path = f"/v1/webhooks/{endpoint.pk}"
    api.patch(path, {"status": "disabled"})
    factories.content(account)
    refused = api.post(f"{path}/recover", {})
    assert (refused.status, refused.error["code"]) == (409, "resource_in_use")
    api.patch(path, {"status": "enabled"})
    assert recover(api, endpoint)["events"] == 1
    assert waiting_for(endpoint) == {given_up}


def test_disabling_an_endpoint_drops_no_attempt_that_was_asked_for(api, account):
    wanted = factories.content(account).pk
    [event] = api.get("/v1/events", type="content.created")["data"]
    endpoint, _ = factories.endpoint(account)
    factories.content(account)
    assert api.post(f"/v1/events/{event['id']}/redeliver", {"webhookId": endpoint.pk}).status == 200
    api.patch(f"/v1/webhooks/{endpoint.pk}", {"status": "disabled"})
    assert waiting_for(endpoint) == {wanted}


def test_a_start_time_includes_events_that_were_never_queued(api, account):
    before = factories.content(account).pk
    endpoint, _ = factories.endpoint(account, events=["content.*"])
    path = f"/v1/webhooks/{endpoint.pk}"
    api.patch(path, {"status": "disabled"})
    meanwhile = factories.content(account).pk
    api.patch(path, {"status": "enabled"})
    made = api.get(path)["created"]
    assert recover(api, endpoint, since=made)["events"] == 1
    assert waiting_for(endpoint) == {meanwhile}
    assert recover(api, endpoint, since=LONG_AGO)["events"] == 1
    assert waiting_for(endpoint) == {before, meanwhile}


@pytest.fixture
def mended(settings):
    """A receiver that fails once and then works, and a retry schedule of five hours."""
    settings.WEBHOOK_RETRY_SCHEDULE = [0, 18_000, 36_000]
    replies = iter([answering(500)])
    with receiver(lambda connection, _: connection.sendall(next(replies, answering(200)))) as there:
        yield there


@pytest.mark.parametrize("body", [{}, {"since": LONG_AGO}])
def test_deliveries_that_wait_for_a_retry_are_sent_at_once(api, account, mended, body):
    endpoint, _ = endpoint_at(mended, account, events=["content.*"])
    factories.content(account)
    deliver()
    [event] = api.get("/v1/events", type="content.created")["data"]
    expected = {"events": 1, "firstEvent": heading(event), "lastEvent": heading(event)}
    assert recover(api, endpoint, dryRun=True, **body).items() >= expected.items()
    deliver()
    assert len(mended.requests) == 1
    assert recover(api, endpoint, **body).items() >= expected.items()
    deliver()
    assert [one["id"] for one in bodies(mended.requests)] == [event["id"]] * 2
    assert waiting_for(endpoint) == set()
    assert recover(api, endpoint, **body)["events"] == 0


def test_an_attempt_in_progress_is_not_sent_twice(api, account):
    endpoint, _ = factories.endpoint(account, events=["content.*"])
    factories.content(account)
    [claimed] = queue.claim({}, 1, 1)
    assert recover(api, endpoint)["events"] == 0
    assert WebhookDelivery.objects.get(pk=claimed.pk).due_at == claimed.lease


def test_a_successful_redelivery_cancels_the_retry(api, account, mended):
    endpoint, _ = endpoint_at(mended, account, events=["content.*"])
    factories.content(account)
    deliver()
    [event] = api.get("/v1/events", type="content.created")["data"]
    assert api.post(f"/v1/events/{event['id']}/redeliver", {"webhookId": endpoint.pk}).status == 200
    deliver()
    assert len(mended.requests) == 2
    assert WebhookDelivery.objects.get().state == "delivered"
    assert waiting_for(endpoint) == set()


@pytest.mark.parametrize("by", ["recovery", "redelivery", "ping"])
def test_an_attempt_on_request_ends_a_pause_that_the_receiver_asked_for(api, account, there, by):
    endpoint, _ = endpoint_at(there, account, events=["content.*"])
    WebhookEndpoint.objects.update(paused_until=timezone.now() + timedelta(hours=5))
    factories.content(account)
    deliver()
    assert there.requests == []
    [event] = api.get("/v1/events", type="content.created")["data"]
    path, body = {
        "recovery": (f"/v1/webhooks/{endpoint.pk}/recover", {}),
        "redelivery": (f"/v1/events/{event['id']}/redeliver", {"webhookId": endpoint.pk}),
        "ping": (f"/v1/webhooks/{endpoint.pk}/ping", {}),
    }[by]
    assert api.post(path, body).status == 200
    deliver()
    assert len(there.requests) == (2 if by == "ping" else 1)
    assert WebhookEndpoint.objects.get().paused_until is None


def test_delivered_and_due_events_are_not_sent_again(api, account, there):
    endpoint, _ = endpoint_at(there, account, events=["content.*"])
    factories.content(account)
    deliver()
    factories.content(account)
    nothing = {"events": 0, "firstEvent": None, "lastEvent": None}
    for body in ({}, {"since": LONG_AGO}, {"since": "2999-01-01"}):
        assert recover(api, endpoint, **body).items() >= nothing.items()


def test_a_failed_ping_and_types_that_the_endpoint_left_are_not_sent_again(api, account, broken):
    endpoint, _ = endpoint_at(broken, account, events=["content.*", "policy.*"])
    services.ping(endpoint)
    factories.policy(account)
    item = factories.content(account).pk
    deliver()
    api.patch(f"/v1/webhooks/{endpoint.pk}", {"events": ["content.*"]})
    assert recover(api, endpoint)["events"] == 1
    assert waiting_for(endpoint) == {item}


def test_a_dry_run_counts_the_events_and_sends_nothing(api, account, broken):
    factories.content(account)
    endpoint, _ = endpoint_at(broken, account, events=["content.*"])
    factories.content(account)
    deliver()
    for body in ({}, {"since": LONG_AGO}):
        tried = recover(api, endpoint, dryRun=True, **body)
        assert waiting_for(endpoint) == set()
        assert tried == {**recover(api, endpoint, **body), "dryRun": True}
        deliver()
    assert AuditEntry.objects.filter(action="webhook_endpoint.recovered").count() == 2


def test_recovered_deliveries_have_the_whole_retry_schedule(api, account, settings):
    settings.WEBHOOK_RETRY_SCHEDULE = [0]
    replies = iter([answering(500), answering(500), answering(200)])
    with receiver(lambda connection, _: connection.sendall(next(replies))) as there:
        endpoint, _ = endpoint_at(there, account)
        factories.content(account)
        deliver()
        settings.WEBHOOK_RETRY_SCHEDULE = [0, 0]
        recover(api, endpoint)
        deliver()
        deliver()
        assert len({body["id"] for body in bodies(there.requests)}) == 1
        assert len(there.requests) == 3


def test_nothing_of_another_account_or_endpoint_is_sent(api, account, other_account, broken):
    for owner in (account, other_account):
        endpoint_at(broken, owner)
        factories.content(owner)
    deliver()
    spare, _ = factories.endpoint(account, events=["content.*"])
    assert recover(api, spare)["events"] == 0
    assert recover(api, spare, since=LONG_AGO)["events"] == 1
    assert Event.objects.get(deliveries__endpoint=spare).account_id == account.pk
