"""The webhook worker of `serve` and of `manage.py deliver_webhooks`."""

import threading
from contextlib import suppress
from datetime import timedelta
from unittest.mock import AsyncMock, Mock

import pytest
from django.core.management import call_command
from django.db import OperationalError

from accounts.events.periodic_tasks import PeriodicTask
from accounts.webhooks import queue
from accounts.webhooks.models import DeliveryState, WebhookDelivery
from accounts.webhooks.worker import SLOTS, start
from tests import factories
from tests.faults.harness import eventually
from tests.outbound.receivers import receiver
from tests.webhooks.delivering import answering, bodies

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def running():
    worker, thread = start()
    yield worker
    worker.stop()
    thread.join(30)
    assert not thread.is_alive()


@pytest.fixture
def account():
    return factories.account()


def at(there, account):
    return factories.endpoint(account, url=f"http://127.0.0.1:{there.port}/")[0]


def test_the_command_delivers_due_events_and_ends(account, monkeypatch):
    monkeypatch.setattr("signal.signal", lambda *_: None)
    with receiver() as there:
        at(there, account)
        for _ in range(40):
            factories.content(account)
        call_command("deliver_webhooks", "--until-idle")
        assert len({body["id"] for body in bodies(there.requests)}) == len(there.requests) == 40
    assert set(WebhookDelivery.objects.values_list("state", flat=True)) == {DeliveryState.DELIVERED}


def test_a_receiver_that_does_not_answer_delays_no_other(account, running):
    over = threading.Event()
    with receiver(lambda *_: over.wait(30)) as silent, receiver() as live:
        try:
            at(silent, account)
            at(live, account)
            for _ in range(3 * SLOTS):
                factories.content(account)
            assert eventually(lambda: len(live.requests) == 3 * SLOTS)
            assert silent.connections <= SLOTS
        finally:
            over.set()


def test_a_failing_endpoint_has_one_place(account, running, settings):
    settings.WEBHOOK_RETRY_SCHEDULE = [0]
    may_answer = threading.Event()
    may_answer.set()

    def fail(connection, request):
        may_answer.wait(30)
        with suppress(OSError):
            connection.sendall(answering(500))

    with receiver(fail) as there:
        endpoint = at(there, account)
        factories.content(account)
        assert eventually(lambda: running.failing)
        may_answer.clear()
        for _ in range(10):
            factories.content(account)
        assert eventually(running.active.total)
        assert running.free_slots() == {endpoint.pk: 0}
        may_answer.set()
        assert eventually(lambda: there.connections == 11)


def test_queueing_a_delivery_wakes_the_worker_of_the_process(account, running, monkeypatch):
    monkeypatch.setattr("accounts.webhooks.worker.MAX_PAUSE", 1_000)
    running.poll_seconds = 400
    assert eventually(lambda: running.poll_seconds > 400)  # it would not look for minutes
    with receiver() as there:
        at(there, account)
        factories.content(account)
        assert eventually(lambda: there.connections)


def test_a_look_at_the_clock_that_fails_keeps_no_event_from_being_delivered(account, monkeypatch):
    look = PeriodicTask(Mock(side_effect=RuntimeError), timedelta(0))
    monkeypatch.setattr("accounts.webhooks.worker.periodic_tasks.registered", [look])
    monkeypatch.setattr("signal.signal", lambda *_: None)
    with receiver() as there:
        at(there, account)
        factories.content(account)
        call_command("deliver_webhooks", "--until-idle")
        assert there.connections == 1


def test_claimed_deliveries_of_a_failing_endpoint_return_to_the_queue(account, running, settings):
    settings.WEBHOOK_RETRY_SCHEDULE = [0]
    replies = iter([answering(200)] + [answering(500)] * (SLOTS + 1))
    with receiver(lambda connection, _: connection.sendall(next(replies, answering(200)))) as there:
        at(there, account)
        factories.content(account)
        assert eventually(lambda: running.answering)
        for _ in range(3 * SLOTS):
            factories.content(account)
        every = WebhookDelivery.objects.exclude(due_at=None)
        assert eventually(lambda: there.connections >= 3 * SLOTS and not every.exists())
        assert there.connections == 3 * SLOTS + 1


def test_an_attempt_that_breaks_in_the_service_counts_as_a_failure(account, monkeypatch, settings):
    settings.WEBHOOK_RETRY_SCHEDULE = [0, 0]
    monkeypatch.setattr("accounts.webhooks.worker.attempt", AsyncMock(side_effect=OverflowError))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    with receiver() as there:
        endpoint = at(there, account)
        factories.content(account)
        call_command("deliver_webhooks", "--until-idle")
    [delivery] = WebhookDelivery.objects.all()
    assert (delivery.state, delivery.attempts) == (DeliveryState.FAILED, 2)
    assert "its log says why" in endpoint.attempts.latest("number").error


def test_a_database_that_fails_for_a_moment_ends_nothing(account, running, monkeypatch):
    claim, failures = queue.claim, iter([True])

    def claim_or_fail(*args):
        if next(failures, False):
            raise OperationalError
        return claim(*args)

    monkeypatch.setattr("accounts.webhooks.worker.REST_SECONDS", 0.01)
    monkeypatch.setattr(queue, "claim", claim_or_fail)
    with receiver() as there:
        at(there, account)
        factories.content(account)
        assert eventually(lambda: there.connections)
