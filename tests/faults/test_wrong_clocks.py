"""A process with a wrong clock changes no wallet, statement or deadline for good: PostgreSQL's clock dates them."""

import logging
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from accounts.events import deadlines
from accounts.events.models import Event
from analytics.ledger.due import book_regularly
from analytics.models import Grant, LedgerEntry, Payment, StatementBook, Wallet, WalletEntry
from analytics.statements.closing import close_due
from config.monitoring import probes
from kit.storage.clocks import difference_seconds, watch
from licensing.licenses.models import License
from tests import factories

pytestmark = pytest.mark.skipif(connection.vendor != "postgresql", reason="On SQLite there is one clock.")
FAR = [timedelta(days=40), timedelta(days=-40)]


@pytest.fixture
def shift(monkeypatch):
    """Return a function that shifts this process's clock against PostgreSQL's."""
    right = timezone.now
    yield lambda by: monkeypatch.setattr("django.utils.timezone.now", lambda: right() + by)
    monkeypatch.undo()
    assert watch.agrees()


@pytest.fixture
def wallet(api, account):
    """A wallet with credit that ends, a monthly refill, and a licence that costs money."""
    factories.license(account, per_access="0.05")
    refill = {"amount": Decimal(3), "every": "month"}
    made = factories.wallet(account, "USD", "5", requester_id="org_acme", refill=refill)
    ends = timezone.now() + timedelta(days=10)
    api.post(
        f"/v1/wallets/{made['wallet']}/grants", {"amount": 2, "kind": "promotional", "expiresAt": ends.isoformat()}
    )
    return Wallet.objects.get(pk=made["wallet"])


def state_of_everything():
    return (
        list(Wallet.objects.values_list("balance", "refills", "next_refill_at", "next_change_at")),
        list(Grant.objects.order_by("pk").values_list("pk", "ended_at", "remaining")),
        WalletEntry.objects.exclude(type="spend").count(),
        StatementBook.objects.count(),
        Event.objects.filter(type__endswith=".expiring").count(),
    )


@pytest.mark.parametrize("by", FAR, ids=["ahead", "behind"])
def test_work_by_date_waits_until_the_clock_is_right(account, wallet, shift, by, caplog):
    factories.license(account, requester_id="org_other", expires_at=timezone.now() + timedelta(days=41))
    before = state_of_everything()
    shift(by)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert (book_regularly(), close_due(), deadlines.write_all_due_events()) == (0, 0, 0)
        with pytest.raises(CommandError, match=r"This machine's clock is 3,45\d,\d+\.\d s .* PostgreSQL's\. Synchron"):
            call_command("close_statements")
    assert state_of_everything() == before
    side = "ahead of" if by > timedelta(0) else "behind"
    assert [record.message for record in caplog.records if "clock is" in record.message] == [caplog.records[0].message]
    assert side in caplog.records[0].message
    report, status = probes.readiness()
    assert (status, report["status"]) == (200, "ok")
    assert side in report["checks"]["clock"]
    assert abs(difference_seconds.values[0] - by.total_seconds()) < 5
    shift(timedelta(0))
    with caplog.at_level(logging.WARNING):
        book_regularly()
    assert caplog.records[-1].message == "This machine's clock agrees with PostgreSQL's again."
    assert "clock" not in probes.readiness()[0]["checks"]


@pytest.mark.django_db
def test_a_small_difference_is_none(shift):
    shift(timedelta(seconds=4))
    assert watch.agrees()
    assert watch.fault() is None


def test_a_check_spends_and_neither_expires_nor_refills_by_a_clock_that_is_ahead(api, account, wallet, shift):
    item = factories.content(account, policy_id=factories.policy(account).pk)
    License.objects.update(expires_at=None)
    before = state_of_everything()
    shift(timedelta(days=40))
    reply = api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    assert reply["allowed"], reply
    assert api.get(f"/v1/wallets/{wallet.pk}/entries").status == 200
    after = state_of_everything()
    assert after[0][0][1:] == before[0][0][1:]
    assert [(pk, ended) for pk, ended, _ in after[1]] == [(pk, ended) for pk, ended, _ in before[1]]
    assert after[2:] == before[2:]
    assert WalletEntry.objects.filter(type="spend").count() == 1


def test_a_merge_moves_credit_and_expires_none(api, account, wallet, shift):
    factories.license(account, requester_id="org_other", per_access="0.05")
    factories.wallet(account, "USD", "1", requester_id="org_other")
    shift(timedelta(days=40))
    assert api.post("/v1/requesters/org_acme/merge", {"into": "org_other"}).status == 200
    assert Wallet.objects.get(requester__requester_id="org_other").balance == Decimal(11)
    assert not WalletEntry.objects.filter(type="expire").exists()


def test_recorded_times_come_from_postgresql(api, account, wallet, shift):
    held = License.objects.get()
    now = timezone.now()
    shift(timedelta(days=40))
    for path, body in (
        (f"/v1/wallets/{wallet.pk}/grants", {"amount": 1}),
        ("/v1/wallets", {"requesterId": "org_acme", "unit": "EUR", "refill": {"amount": 1, "every": "month"}}),
        ("/v1/payments", {"requesterId": "org_acme", "amount": 1, "currency": "USD"}),
        ("/v1/revenue", {"amount": 1, "currency": "USD", "requesterId": "org_acme"}),
        (
            "/v1/licenses",
            {"requesterId": "org_acme", "licenseType": "commercial", "price": {"amount": 1, "currency": "USD"}},
        ),
        (f"/v1/licenses/{held.pk}/revoke", None),
    ):
        reply = api.post(path, body)
        assert reply.status in (200, 201), (path, reply)
    stored = [
        *Grant.objects.values_list("created", "effective_at"),
        *Wallet.objects.values_list("created"),
        *Payment.objects.values_list("created", "received_at"),
        *LedgerEntry.objects.values_list("created", "occurred_at"),
        *License.objects.values_list("starts_at"),
        *License.objects.filter(pk=held.pk).values_list("revoked_at"),
    ]
    assert len(stored) >= 9
    assert all(moment < now + timedelta(days=1) for row in stored for moment in row)
