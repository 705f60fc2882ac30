"""An account is deleted during writes and webhook deliveries."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from accounts.models import Account
from accounts.webhooks.models import WebhookAttempt
from accounts.webhooks.worker import start
from licensing.account_deletion import delete_account, models_in_deletion_order
from tests import factories
from tests.client import ApiClient
from tests.faults.harness import eventually
from tests.outbound.receivers import receiver

pytestmark = pytest.mark.django_db(transaction=True)
WRITERS = 3


@pytest.fixture
def delivering(settings):
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    worker, thread = start()
    yield
    worker.stop()
    thread.join(30)
    assert not thread.is_alive()


def write_until_refused(key, over):
    """Create items in bulk until a request's status is not 200; return that reply."""
    api = ApiClient(key)
    try:
        while not over.is_set():
            reply = api.post("/v1/content/bulk", {"items": [{"title": f"Item {number}"} for number in range(20)]})
            if reply.status != 200:
                return reply
    finally:
        connections.close_all()


@pytest.mark.slow
@pytest.mark.parametrize("_", range(3))
def test_an_account_is_deleted_while_requests_write_and_webhooks_are_delivered(delivering, _, caplog):
    account, other = (factories.account(name) for name in ("Going", "Staying"))
    with receiver() as there, ThreadPoolExecutor(WRITERS) as threads:
        for owner in (account, account, other):
            factories.endpoint(owner, url=f"http://127.0.0.1:{there.port}/")
        key = factories.key_text(account)
        over = threading.Event()
        writers = [threads.submit(write_until_refused, key, over) for _ in range(WRITERS)]
        try:
            assert eventually(lambda: WebhookAttempt.objects.filter(endpoint__account=account).count() > 20)
            delete_account(account)
            replies = [writer.result() for writer in writers]
        finally:
            over.set()
    assert [(reply.status, reply.error["code"]) for reply in replies] == [(401, "invalid_api_key")] * WRITERS
    assert list(Account.objects.values_list("pk", flat=True)) == [other.pk]
    for model, way in models_in_deletion_order():
        assert not model._base_manager.filter(**{way: account.pk}).exists(), model
    assert "deadlock" not in caplog.text
