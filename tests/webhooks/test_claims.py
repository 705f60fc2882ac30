"""Claims: no other worker takes a claimed delivery until its lease ends."""

from accounts.webhooks import queue, services
from accounts.webhooks.models import DeliveryState, WebhookDelivery, WebhookEndpoint
from tests import factories
from tests.outbound.receivers import receiver
from tests.webhooks.delivering import answering, attempts, bodies, claim, deliver, endpoint_at, waiting


def test_a_claimed_delivery_is_leased_to_one_worker(account, there, clock):
    endpoint_at(there, account)
    factories.content(account)
    [first] = claim()
    assert claim() == []
    clock.advance(seconds=31)
    [second] = claim()
    assert second.pk == first.pk
    queue.settle(attempts([first]))  # too late: another worker has claimed it
    assert waiting().state == DeliveryState.WAITING
    queue.settle(attempts([second]))
    assert (waiting().state, waiting().attempts) == (DeliveryState.DELIVERED, 1)


def test_a_claim_takes_at_most_the_free_places(account, there):
    endpoint, _ = endpoint_at(there, account)
    quiet, _ = endpoint_at(there, account)
    for _ in range(5):
        factories.content(account)
    claimed = queue.claim({endpoint.pk: 2, quiet.pk: 0}, 16, 100)
    assert [one.endpoint.pk for one in claimed] == [endpoint.pk] * 2
    assert len(queue.claim({quiet.pk: 0}, 16, 100)) == 3
    assert len(queue.claim({}, 16, 4)) == 4


def test_an_endpoint_deleted_during_an_attempt_leaves_nothing(account, there):
    endpoint, _ = endpoint_at(there, account)
    factories.content(account)
    claimed = claim()
    services.delete_endpoint(endpoint)
    queue.settle(attempts(claimed))
    assert not WebhookDelivery.objects.exists()


def test_an_endpoint_disabled_during_an_attempt_is_not_tried_again(account, clock):
    with receiver(answering(500)) as there:
        endpoint, _ = endpoint_at(there, account)
        factories.content(account)
        claimed = claim()
        services.update_endpoint(endpoint, {"status": "disabled"})
        queue.settle(attempts(claimed))
        clock.advance(days=1)
        assert claim() == []


def test_each_event_is_sent_to_each_endpoint_once(account, there):
    endpoint_at(there, account)
    endpoint_at(there, account)
    items = {factories.content(account).pk for _ in range(3)}
    deliver()
    sent = [body["data"]["id"] for body in bodies(there.requests)]
    assert sorted(sent) == sorted([*items, *items])
    assert WebhookEndpoint.objects.filter(failing_since=None).count() == 2
