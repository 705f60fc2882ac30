import json
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import transaction

from analytics.models import ClosedStatement, Grant, LedgerEntry, TierRevenue, Wallet, WalletEntry
from analytics.rollups.roll_up import roll_up
from analytics.statements.closing import close_due
from kit.values.decimals import plain
from tests import factories, ledger
from tests.clock import clock  # noqa: F401 - a fixture
from tests.commands.calling import ended, printed

USD = "USD"
PRICE = {"amount": "0.05", "currency": USD}


def run():
    """Return the differences that the command prints, each as its check and what is missing."""
    status, out, _ = ended("check_books", "--json")
    differences = json.loads(out)["differences"]
    assert status == bool(differences)
    return [(one["check"], one["missing"]) for one in differences]


@pytest.fixture
def wallet(api, account, clock):  # noqa: F811
    """The wallet of a customer with an entry of each kind, in a closed month and in an open one."""
    clock.set("2026-01-05T12:00:00Z")
    item = factories.content(account, policy_id=factories.policy(account).pk)
    terms = {"requesterId": "org_acme", "licenseType": "commercial", "pricePerAccess": PRICE}
    fee, price = {**PRICE, "every": "month"}, {"amount": 100, "currency": "EUR"}
    held = api.post("/v1/licenses", {**terms, "fee": fee, "price": price})
    made = api.post("/v1/wallets", {"requesterId": "org_acme", "unit": USD})["id"]
    paid = {"amount": 10, "kind": "paid", "paid": {"amount": 9, "currency": "EUR"}}
    api.post(f"/v1/wallets/{made}/grants", {**paid, "expiresAt": "2026-01-20T00:00:00Z"})
    for _ in range(2):
        decision = api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    assert api.post("/v1/refunds", {"decisionId": decision["id"], "amount": "0.02"}).status == 201
    assert api.post("/v1/refunds", {"licenseId": held["id"], "amount": 20}).status == 201
    payment = {"requesterId": "org_acme", "currency": "EUR"}
    wrong = api.post("/v1/payments", {**payment, "amount": 500})
    clock.set("2026-02-02T12:00:00Z")
    assert close_due() == 1
    assert api.post(f"/v1/payments/{wrong['id']}/void", {"reason": "Typing error"}).status == 200
    api.post("/v1/payments", {**payment, "amount": 90})
    api.post("/v1/payments", {**payment, "amount": 10, "kind": "payout"})
    grant = api.post(f"/v1/wallets/{made}/grants", {"amount": 5, "kind": "promotional"})
    assert api.post(f"/v1/wallets/{made}/grants/{grant['id']}/void").status == 200
    api.post(f"/v1/wallets/{made}/grants", {"amount": 5, "kind": "paid"})
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    api.post("/v1/requesters/org_acme/merge", {"into": api.post("/v1/requesters", {"id": "org_b"})["id"]})
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    return Wallet.objects.get(pk=made)


@contextmanager
def undone():
    """Take back what the block writes."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def add_entry(wallet, **fields):
    moment = datetime(2026, 2, 3, tzinfo=UTC)
    WalletEntry.objects.create(account=wallet.account, wallet=wallet, created=moment, **fields)


def test_nothing_differs_after_movements_of_every_kind(wallet):
    assert run() == []
    roll_up()
    assert run() == []
    assert printed("check_books") == "The books agree with their entries.\n"


def test_credit_without_entries_and_spends_without_charges_are_named(wallet):
    with undone():
        Wallet.objects.update(balance=wallet.balance + 1)
        assert run() == [("wallets", "-1"), ("grants", "0.95"), ("statements", "1")]
    with undone():  # a grant counts twice
        grant = Grant.objects.get(wallet=wallet, ended_at=None, kind="paid")
        add_entry(wallet, type="grant", amount=grant.amount, grant=grant)
        Wallet.objects.update(balance=wallet.balance + grant.amount)
        assert [check for check, _ in run()] == ["grants", "grants"]
    with undone():
        add_entry(wallet, type="spend", amount=Decimal("-0.05"), decision_id=None)
        Wallet.objects.update(balance=wallet.balance - Decimal("0.05"))
        assert run() == [("spends", "-0.05")]
    assert run() == []


def test_refunds_above_their_charge_and_a_fee_that_is_charged_twice_are_named(wallet, account):
    fee = LedgerEntry.objects.filter(type="fee", amount__gt=0).first()
    charge = LedgerEntry.objects.filter(type="usage").latest("occurred_at")
    price = LedgerEntry.objects.filter(type="license", license__isnull=False).first()
    with undone():
        for amount, about in (
            ("-0.07", {"fee": fee, "license_id": fee.license_id}),
            ("-0.06", {"decision_id": charge.decision_id, "license_id": charge.license_id}),
            ("-81", {"license_id": price.license_id, "currency": "EUR"}),
        ):
            ledger.add(account, amount, type="adjustment", requester_id=fee.requester_id, **about)
        assert sorted(run()) == [("refunds", "-0.01"), ("refunds", "-0.02"), ("refunds", "-1")]
    fee = LedgerEntry.objects.filter(type="fee").latest("occurred_at")
    shown = {"license_id": fee.license_id, "license_type": "commercial", "requester_id": fee.requester_id}
    ledger.add(account, "0.05", type="fee", occurred_at=fee.occurred_at + timedelta(hours=1), **shown)
    assert run() == [("fees", "-0.05")]


def test_a_closed_month_that_lacks_an_entry_or_its_predecessor_and_missing_revenue_are_named(wallet, account):
    with undone():
        ledger.add(account, "3", created=datetime(2026, 1, 15, tzinfo=UTC), requester_id=wallet.requester_id)
        found = run()
        assert {check for check, _ in found} == {"statements", "lines"}
        assert {missing for _, missing in found} == {"3"}
    with undone():
        january = ClosedStatement.objects.get(currency="EUR")
        january.month = date(2025, 12, 1)
        january.pk = ledger.statement_id(january.account_id, january.requester_id, january.month, january.currency)
        january.save(force_insert=True)
        assert ("statements", plain(january.closing)) in run(), "January opens with nothing"
    roll_up()
    TierRevenue.objects.filter(currency="EUR", amount__gt=0).delete()
    found = run()
    assert found
    assert {check for check, _ in found} == {"revenue"}
