from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Sum

from analytics.ledger.entries import add_entries
from analytics.models import ContentRevenue, Entry, LedgerEntry, RecentRevenue, RequesterRevenue, TierRevenue
from analytics.rollups.roll_up import roll_up
from kit.http.errors import ValidationFailed
from kit.values.ids import new_id
from tests import factories
from tests.ledger import entry, requester
from tests.lock_waits import at_once


def test_entries_are_added_up_by_account_day_currency_and_whom_they_concern(account, other_account):
    item, org = factories.content(account), requester(account)
    night = datetime(2026, 3, 4, 23, 59, 59, 999_999, UTC)
    about = {"content": item, "requester": org, "license_type": "commercial"}
    add_entries([entry(account, "0.1", **about), entry(account, "0.2", occurred_at=night, **about)])
    add_entries([entry(account, "-0.000001", **about), entry(account, "5", currency="EUR"), entry(account, "7")])
    add_entries([entry(account, "2", occurred_at=datetime(2026, 3, 5, tzinfo=UTC)), entry(other_account, "9")])
    roll_up()

    def rows(model, key):
        own = model.objects.filter(account=account)
        return {(one.day.day, one.currency, getattr(one, key)): one.amount for one in own}

    sum_of_three = Decimal("0.299999")
    assert rows(ContentRevenue, "content_id") == {(4, "USD", item.pk): sum_of_three}
    assert rows(RequesterRevenue, "requester_id") == {(4, "USD", org.pk): sum_of_three}
    assert rows(TierRevenue, "license_type") == {
        (4, "USD", "commercial"): sum_of_three, (4, "USD", ""): Decimal(7), (4, "EUR", ""): Decimal(5),
        (5, "USD", ""): Decimal(2),
    }  # fmt: skip
    assert TierRevenue.objects.get(account=other_account).amount == 9


def test_an_entry_can_neither_be_changed_nor_deleted(account):
    add_entries([entry(account)])
    for change in (
        lambda: LedgerEntry.objects.update(amount=Decimal(2)),
        lambda: LedgerEntry.objects.all().delete(),
        lambda: LedgerEntry.objects.get().delete(),
    ):
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            change()
    assert [one.amount for one in LedgerEntry.objects.all()] == [1]


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "usage", "amount": -1},
        {"type": "payment", "amount": -1},
        {"type": "payment", "amount": 0},
        {"type": "payment", "amount": 1, "requester": None},
        {"type": "payment", "amount": 1, "license_type": "press"},
        {"type": "payout", "amount": 1, "grant_id": new_id("grt")},
        {"type": "adjustment", "amount": 1, "grant_id": new_id("grt")},
        {"type": "adjustment", "amount": -1, "reverses_id": new_id("led")},
        {"type": "gift", "amount": 1},
    ],
)
def test_the_database_refuses_entries_that_do_not_fit_their_kind(account, fields):
    now = datetime(2026, 3, 4, tzinfo=UTC)
    about = {
        "account": account,
        "currency": "USD",
        "occurred_at": now,
        "created": now,
        "requester": requester(account),
    }
    with pytest.raises(IntegrityError, match="entries_are_consistent"), transaction.atomic():
        Entry.objects.create(**{**about, **fields, "amount": Decimal(fields["amount"])})


def test_a_failed_transaction_rolls_its_entries_back(account):
    def add_and_fail():
        add_entries([entry(account)])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), transaction.atomic():
        add_and_fail()
    counts = [model.objects.count() for model in (LedgerEntry, TierRevenue, RecentRevenue)]
    assert counts == [0, 0, 0]


def test_a_total_is_exact_at_any_size_or_refused(account):
    largest = Decimal("1000000000000")
    try:
        add_entries([entry(account, str(largest)) for _ in range(12)])
    except ValidationFailed:
        assert connection.vendor == "sqlite"
        assert LedgerEntry.objects.count() == 0
        add_entries([entry(account, str(largest)) for _ in range(9)])
    roll_up()
    assert TierRevenue.objects.get().amount == LedgerEntry.objects.count() * largest


def test_entries_of_several_threads_are_all_counted(transactional_db):
    account = factories.account()
    items = [factories.content(account).pk for _ in range(5)]
    org = requester(account).pk

    def add(worker):
        for n in range(15):
            numbered = [{"content_id": items[(worker * n + k) % 5], "license_type": f"t{k}"} for k in range(4)]
            add_entries([entry(account, "0.1", requester_id=org, **about) for about in numbered])

    at_once(*(partial(add, worker) for worker in range(4)))
    assert LedgerEntry.objects.count() == 4 * 15 * 4
    roll_up()
    for model in (ContentRevenue, RequesterRevenue, TierRevenue):
        assert model.objects.aggregate(sum=Sum("amount"))["sum"] == Decimal(24)
        assert Counter(model.objects.values_list("day", flat=True)).keys() == {date(2026, 3, 4)}
