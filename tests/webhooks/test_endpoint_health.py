"""Endpoints are disabled at once, or after days of only failures."""

import json

import pytest

from accounts.events.models import Event
from accounts.models import AuditEntry
from accounts.webhooks import queue, services
from accounts.webhooks.models import WebhookDelivery
from tests import factories
from tests.outbound.receivers import receiver
from tests.webhooks.delivering import answering, attempts, claim, deliver, endpoint_at


def test_410_disables_at_once_and_tells_the_others(api, account, clock):
    other, _ = factories.endpoint(account, events=["webhook_endpoint.disabled"])
    with receiver(answering(410)) as there:
        endpoint, _ = endpoint_at(there, account)
        factories.content(account)
        factories.content(account)
        deliver()
        shown = api.get(f"/v1/webhooks/{endpoint.pk}").body
        assert (shown["status"], shown["disabledReason"]) == ("disabled", "It answered 410 Gone.")
        assert WebhookDelivery.objects.filter(endpoint=endpoint, due_at__isnull=False).count() == 0
    [told] = WebhookDelivery.objects.filter(endpoint=other)
    assert (told.event.type, json.loads(told.event.data)) == ("webhook_endpoint.disabled", shown)
    assert AuditEntry.objects.get(action="webhook_endpoint.disabled").actor_type == "system"


def fail_every(hours, days, account, clock):
    for _ in range(days * 24 // hours):
        factories.content(account)
        queue.settle(attempts(claim()))
        clock.advance(hours=hours)


def test_five_days_of_only_failures_disable(api, account, clock):
    with receiver(answering(500)) as there:
        endpoint, _ = endpoint_at(there, account)
        fail_every(12, 5, account, clock)
        assert api.get(f"/v1/webhooks/{endpoint.pk}")["status"] == "enabled"
        fail_every(12, 1, account, clock)
        shown = api.get(f"/v1/webhooks/{endpoint.pk}").body
        assert (shown["status"], "5 days" in shown["disabledReason"]) == ("disabled", True)
        assert Event.objects.filter(type="webhook_endpoint.disabled").count() == 1
        enabled = api.patch(f"/v1/webhooks/{endpoint.pk}", {"status": "enabled"})
        assert (enabled["disabledReason"], enabled["failingSince"]) == (None, None)


def test_one_success_among_failures_begins_the_count_anew(api, account, clock):
    replies = iter([500] * 4 + [200] + [500] * 40)
    with receiver(lambda connection, _: connection.sendall(answering(next(replies)))) as there:
        endpoint, _ = endpoint_at(there, account)
        for _ in range(12):
            factories.content(account)
            queue.settle(attempts(claim(1)))
            WebhookDelivery.objects.update(due_at=None)
            clock.advance(hours=12)
    shown = api.get(f"/v1/webhooks/{endpoint.pk}").body
    assert (shown["status"], shown["failingSince"] is None) == ("enabled", False)


def test_two_failures_five_days_apart_do_not_disable_an_endpoint(api, account, clock, settings):
    settings.WEBHOOK_RETRY_SCHEDULE = [0]
    with receiver(answering(500)) as there:
        endpoint, _ = endpoint_at(there, account)
        for _ in range(2):
            factories.content(account)
            deliver()
            clock.advance(days=6)
        assert api.get(f"/v1/webhooks/{endpoint.pk}")["status"] == "enabled"


@pytest.mark.parametrize("status", [500, 410])
def test_a_failed_ping_or_redelivery_is_one_attempt_and_says_nothing_of_the_endpoint(api, account, clock, status):
    with receiver(answering(status)) as there:
        endpoint, _ = endpoint_at(there, account)
        services.ping(endpoint)
        deliver()
        clock.advance(days=1)
        assert deliver() == []
        shown = api.get(f"/v1/webhooks/{endpoint.pk}").body
        assert (shown["status"], shown["failingSince"]) == ("enabled", None)
