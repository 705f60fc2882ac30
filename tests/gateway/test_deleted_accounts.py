from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest
from django.db import connection

from accounts.auditing import audit
from accounts.models import Account
from analytics.models import Entry, LedgerEntry
from licensing.account_deletion import delete_account, models_in_deletion_order
from tests import factories
from tests.lock_waits import in_thread

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="on SQLite a check waits until the account is gone"),
]
PATIENCE = 10  # seconds


@contextmanager
def being_deleted(account: Account, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Delete the account in a thread. It commits when the yielded function is called."""
    is_nearly_gone, may_go, record = Event(), Event(), audit.record

    def wait(action: str, *rest: Any) -> None:
        if action == "account.deleted":
            is_nearly_gone.set()
            assert may_go.wait(PATIENCE)
        record(action, *rest)

    monkeypatch.setattr(audit, "record", wait)
    with ThreadPoolExecutor(1) as threads:
        deleted = threads.submit(in_thread, delete_account, account)
        try:
            assert is_nearly_gone.wait(PATIENCE)
            yield may_go.set
        finally:
            may_go.set()
        deleted.result(PATIENCE)


def test_records_of_checks_during_a_deletion_are_deleted(api, account, monkeypatch):
    item = factories.content(account, policy_id=factories.policy(account).pk)
    check = {"contentId": item.pk, "requester": "org_acme"}
    assert api.post("/v1/access/check", check).status == 200  # and caches the facts
    with being_deleted(account, monkeypatch) as finish:
        assert api.post("/v1/access/check", check).status == 200
        finish()
    assert api.post("/v1/access/check", check).status == 401
    for model, way in models_in_deletion_order():
        assert not model._base_manager.filter(**{way: account.pk}).exists(), model


def test_a_charge_during_the_deletion_of_a_demo_keeps_nothing_else(api, account, monkeypatch):
    account.is_demo = True
    account.save(update_fields=["is_demo"])
    factories.license(account, per_access="1")
    item = factories.content(account, policy_id=factories.policy(account).pk)
    check = {"contentId": item.pk, "requester": "org_acme"}
    assert api.post("/v1/access/check", check)["charge"]["amount"] == 1
    with being_deleted(account, monkeypatch) as finish:
        assert api.post("/v1/access/check", check).status == 200
        finish()
    assert LedgerEntry.objects.filter(account=account).count() == 1
    for model, way in models_in_deletion_order():
        assert model is Entry or not model._base_manager.filter(**{way: account.pk}).exists(), model
