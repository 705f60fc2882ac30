import pytest
from django.core.management import CommandError

from accounts.events.models import Event
from accounts.models import AuditEntry
from accounts.webhooks.models import WebhookDelivery
from tests import factories
from tests.commands.calling import printed, printed_json


@pytest.fixture
def endpoint(account):
    """An endpoint with an event older than itself, and an event whose delivery failed."""
    factories.content(account)
    endpoint, _ = factories.endpoint(account, events=["content.*"])
    factories.content(account)
    WebhookDelivery.objects.update(state="failed", due_at=None)
    return endpoint


def waiting():
    return WebhookDelivery.objects.filter(due_at__isnull=False).count()


def test_failed_deliveries_are_queued_and_the_first_and_last_event_are_named(endpoint):
    [event] = Event.objects.filter(deliveries__endpoint=endpoint)
    told = printed("recover_webhook", endpoint.pk)
    assert told.startswith("Queued 1 event: ")
    assert told.count(event.pk) == 2
    assert waiting() == 1
    assert AuditEntry.objects.get(action="webhook_endpoint.recovered").actor_type == "command"


def test_a_start_time_includes_events_never_queued_and_json_equals_the_api(endpoint):
    shown = printed_json("recover_webhook", endpoint.pk, "--since", "2020-01-01")
    assert (shown["object"], shown["since"], shown["events"]) == ("webhook_recovery", "2020-01-01T00:00:00.000000Z", 2)
    assert waiting() == 2


def test_dry_runs_and_invalid_arguments_queue_nothing(endpoint):
    assert printed("recover_webhook", endpoint.pk, "--dry-run", "--since", "2020-01-01").startswith(
        "Would send 2 events: "
    )
    assert waiting() == 0
    for options, words in (
        (["we_0"], "no webhook endpoint"),
        (["--since", "yesterday"], "--since"),
        (["--since", "2026-01-01T00:00"], "offset"),
    ):
        ids = [] if options[0].startswith("we_") else [endpoint.pk]
        with pytest.raises(CommandError, match=f"(?i){words}"):
            printed("recover_webhook", *ids, *options)
