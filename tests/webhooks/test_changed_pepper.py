"""Webhook endpoints after API_KEY_PEPPER has changed: secrets and headers cannot be read and are set again."""

import pytest

from accounts.models import AuditEntry
from accounts.webhooks.models import WebhookEndpoint
from tests import factories
from tests.client import ApiClient
from tests.webhooks.delivering import deliver, endpoint_at, parts

HEADERS = {"Authorization": "Bearer receiver-s3cret"}


@pytest.fixture
def endpoint(account, there):
    return endpoint_at(there, account, headers=HEADERS, events=["content.*"])[0]


@pytest.fixture
def changed(endpoint, settings, account):
    """An API client with a key that was created after the change."""
    settings.API_KEY_PEPPER = b"another"
    return ApiClient(factories.key_text(account))


def test_rotating_drops_the_unreadable_secret(changed, endpoint):
    rotated = changed.post(f"/v1/webhooks/{endpoint.pk}/rotate")
    assert (rotated.status, rotated["secret"][:6]) == (200, "whsec_")
    again = changed.post(f"/v1/webhooks/{endpoint.pk}/rotate")
    assert (again.status, again["headerNames"]) == (200, ["Authorization"])


@pytest.mark.parametrize("fields", [{"status": "disabled"}, {"description": "x"}, {"events": ["*"]}])
def test_a_change_leaves_unreadable_headers_alone(changed, endpoint, fields):
    before = bytes(endpoint.headers)
    assert changed.patch(f"/v1/webhooks/{endpoint.pk}", fields).status == 200
    assert bytes(WebhookEndpoint.objects.get().headers) == before
    assert "headers" not in AuditEntry.objects.get(action="webhook_endpoint.updated").changes


@pytest.mark.parametrize("headers", [HEADERS, None])
def test_setting_headers_again_replaces_unreadable_ones(changed, endpoint, headers):
    patched = changed.patch(f"/v1/webhooks/{endpoint.pk}", {"headers": headers})
    assert (patched.status, patched["headerNames"]) == (200, list(headers or {}))
    assert AuditEntry.objects.get(action="webhook_endpoint.updated").changes["headers"] == [None, "changed"]


def test_deliveries_say_what_to_set_again_and_then_succeed(changed, account, endpoint, there, settings):
    settings.WEBHOOK_RETRY_SCHEDULE = [0, 0, 0]
    factories.content(account)
    assert deliver()[0].error.endswith("Rotate it.")
    changed.post(f"/v1/webhooks/{endpoint.pk}/rotate")
    assert deliver()[0].error == (
        "The endpoint's headers cannot be read: the server's secret has changed. Set them again."
    )
    assert there.connections == 0
    changed.patch(f"/v1/webhooks/{endpoint.pk}", {"headers": HEADERS})
    [result] = deliver()
    assert (result.status, result.error) == (200, None)
    sent, _ = parts(there.requests[0])
    assert sent["authorization"] == HEADERS["Authorization"]
    assert len(sent["webhook-signature"].split()) == 1
