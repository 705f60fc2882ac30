"""A commit spends only what its wallets cover, and only for stored requests."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone
from msgspec.structs import replace

from accounts.plans.epochs import invalidate
from analytics.models import AccessEvent, LedgerEntry, Wallet, WalletEntry
from analytics.recording import recorder
from analytics.recording.entries import Entry
from analytics.recording.naming import Naming
from analytics.recording.outcomes import RETRY, STALE, UNPAID, Outcome
from analytics.wallets.services import update_wallet
from kit.storage.sqlite_turns import turn_to_write
from kit.values import ids
from kit.values.timestamps import render_timestamp
from tests.wallets.shop import PRICE, Shop


@pytest.fixture
def shop(db):
    return Shop()


def record(*requests: list[Entry]) -> list[Outcome]:
    with turn_to_write():
        return recorder.record([entry for entries in requests for entry in entries])


def test_each_spend_shows_the_balance_for_the_next(shop):
    shop.licensee("org_a", 1)
    outcomes = record(shop.request("org_a"), shop.request("org_a", "org_a"))
    assert [one.available for one in outcomes] == [950_000, 900_000, 850_000]
    assert shop.balance("org_a") == Decimal("0.85")
    shown = [one.facts["credits"] for one in AccessEvent.objects.all()]
    assert sorted(one["remaining"] for one in shown) == ["0.85", "0.9", "0.95"]
    assert {(one["walletId"], one["unit"]) for one in shown} == {(shop.wallets["org_a"], "USD")}
    spends = WalletEntry.objects.filter(type="spend")
    assert {one.decision_id for one in spends} == {one.pk for one in AccessEvent.objects.all()}
    assert {one.amount for one in spends} == {-PRICE}


@pytest.mark.parametrize("terms", [{}, {"thresholds": [{"value": 0.08}]}, {"floor": Decimal("-0.01")}])
def test_requests_whose_wallet_needs_a_transaction_keep_no_others_from_being_stored(shop, terms):
    """Wallets need one if they cannot pay, or fall to a threshold or floor that has events."""
    shop.licensee("org_poor", "0.09", **terms)
    shop.licensee("org_rich", 10)
    first, rich, second = shop.request("org_poor"), shop.request("org_rich"), shop.request("org_poor")
    outcomes = record(first, rich, second)
    assert outcomes == [UNPAID, Outcome(available=9_950_000), UNPAID]
    assert (shop.balance("org_poor"), shop.balance("org_rich")) == (Decimal("0.09"), Decimal("9.95"))
    [decision] = AccessEvent.objects.all()
    [spend] = WalletEntry.objects.filter(type="spend")
    [charge] = LedgerEntry.objects.filter(type="usage")
    assert spend.decision_id == charge.decision_id == decision.pk


def test_a_wallet_in_which_something_is_due_needs_a_transaction(shop):
    shop.licensee("org_a", 1)
    Wallet.objects.update(next_change_at=timezone.now() - timedelta(seconds=1))
    assert record(shop.request("org_a")) == [UNPAID]


def test_a_request_that_one_of_its_wallets_does_not_cover_is_not_stored_in_part(shop):
    """Requests that share a wallet with it are left out too; others are stored."""
    shop.licensee("org_poor", "0.04")
    shop.licensee("org_rich", 10)
    shop.licensee("org_other", 10)
    requests = [shop.request("org_rich"), shop.request("org_rich", "org_poor"), shop.request("org_other")]
    assert record(*requests) == [UNPAID, UNPAID, UNPAID, Outcome(available=9_950_000)]
    assert [shop.balance(name) for name in ("org_poor", "org_rich")] == [Decimal("0.04"), 10]
    assert AccessEvent.objects.count() == WalletEntry.objects.filter(type="spend").count() == 1


def test_requests_that_spend_from_several_wallets_take_from_each(shop):
    for name in ("org_a", "org_b", "org_c"):
        shop.licensee(name, 1)
    requests = [shop.request("org_a"), shop.request("org_b", "org_c"), shop.request("org_c", "org_a")]
    assert [one.available for one in record(*requests)] == [950_000, 950_000, 950_000, 900_000, 900_000]
    assert [str(shop.balance(name)) for name in ("org_a", "org_b", "org_c")] == ["0.900000", "0.950000", "0.900000"]


def test_a_check_that_renames_its_requester_spends_once_the_name_is_stored(shop):
    shop.licensee("org_a", 1)
    named = Naming(ids.id_to_hex("acc", shop.account.pk), render_timestamp(timezone.now()), [])
    request = [replace(entry, naming=named) for entry in shop.request("org_a")]
    assert record(request) == [RETRY]
    assert shop.balance("org_a") == 1


@pytest.mark.parametrize("revoked", [True, False])
def test_decisions_on_facts_that_have_changed_spend_nothing(shop, revoked):
    shop.licensee("org_a", 1)
    request = shop.request("org_a")
    invalidate(shop.account.pk, {str(request[0].case.requester)} if revoked else None)
    assert record(request) == [STALE]
    assert shop.balance("org_a") == 1
    assert not AccessEvent.objects.exists()


def test_a_change_of_others_is_no_reason_to_spend_otherwise(shop):
    shop.licensee("org_a", 1)
    request = shop.request("org_a")
    invalidate(shop.account.pk, {"9999999"})
    assert record(request) == [Outcome(available=950_000, behind=True)]
    assert shop.balance("org_a") == Decimal("0.95")


def test_a_wallet_of_a_former_version_needs_one_transaction_that_computes_its_next_notice(shop):
    shop.licensee("org_a", 1, thresholds=[{"value": 0.33}, {"percent": 7}, {"value": 2}])
    wallet = Wallet.objects.get()
    assert wallet.notice_at == Decimal("0.33")
    Wallet.objects.update(notice_at=None)
    assert record(shop.request("org_a")) == [UNPAID]
    update_wallet(wallet, {"thresholds": [{"percent": 7}]})
    assert Wallet.objects.get().notice_at == Decimal("0.07")
    assert record(shop.request("org_a")) == [Outcome(available=950_000)]
