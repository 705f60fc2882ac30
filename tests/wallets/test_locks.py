"""Spending, granting, refunding and merging lock wallets first, in id order, so they cannot deadlock."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal

import pytest
from django.db import connection

from analytics.models import Wallet
from analytics.recording import recorder
from analytics.recording.statement import postgresql
from kit.values import ids
from licensing.customers.merging import merge
from licensing.requesters.models import Requester
from tests import factories
from tests.lock_waits import in_thread, on_postgresql, open_session, wait_until_blocked
from tests.stored import multiply
from tests.wallets.shop import Shop

pytestmark = [pytest.mark.django_db(transaction=True), on_postgresql]
LOCK = "SELECT FROM analytics_wallet WHERE id = %s FOR UPDATE"


@pytest.fixture
def sessions():
    with closing(open_session()) as holder, closing(open_session()) as other:
        yield holder, other


@pytest.fixture
def while_waiting(sessions):
    """Hold a wallet until a statement waits for it; return whether another statement gets its locks meanwhile."""

    def act(wallet, work, statement, parameters=()):
        holder, other = sessions
        holder.execute(LOCK, [uuid_of(wallet)])
        with ThreadPoolExecutor(1) as pool:
            working = pool.submit(in_thread, work)
            try:
                assert wait_until_blocked(working, holder.info.backend_pid, other)
                found = other.execute(f"{statement} NOWAIT", parameters).fetchall()
            finally:
                other.rollback()
                holder.rollback()
            working.result()
        return found

    return act


def uuid_of(wallet):
    return ids.id_to_hex("wal", wallet)


def test_a_merge_waits_for_a_wallet_while_it_holds_none_of_a_higher_id(while_waiting):
    account = factories.account()
    for org in ("org_a", "org_b"):
        factories.requester(account, requester_id=org)
    wallets = [
        factories.wallet(account, unit, requester_id=org)["wallet"]
        for org in ("org_a", "org_b")
        for unit in ("USD", "EUR")
    ]
    source = Requester.objects.get(account=account, requester_id="org_a")
    assert while_waiting(wallets[1], lambda: merge(source, "org_b"), LOCK, [uuid_of(wallets[2])])
    total = sum(Wallet.objects.filter(pk__in=wallets[2:]).values_list("balance", flat=True))
    assert total == Decimal(40)


def test_checks_wait_for_a_wallet_while_they_hold_nothing_else(while_waiting):
    shop = Shop()
    for name in ("org_a", "org_b"):
        shop.licensee(name, 10)
    first, second = sorted(shop.wallets, key=shop.wallets.get)
    entries = [*shop.request(second), *shop.request(first)]
    assert while_waiting(shop.wallets[first], lambda: recorder.record(entries), LOCK, [uuid_of(shop.wallets[second])])
    assert (shop.balance(first), shop.balance(second)) == (Decimal("9.95"), Decimal("9.95"))


def test_wallets_are_found_by_their_index_however_many_there_are(account):
    holder = factories.requester(account)
    wallet = Wallet.objects.create(account=account, requester_id=holder.pk, unit="USD")
    multiply(wallet, 20_000, requester_id="made.requester_id + n")
    parts = {"charging": True, "counting": False, "naming": False, "keeping": False, "spending": True}
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL random_page_cost = 40")  # makes every plan that can read the whole table do so
        cursor.execute(f"EXPLAIN {postgresql(**parts, alike=False)}", ["[]", "{}", "{}", "[]", *["{}"] * 7])
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Seq Scan on analytics_wallet" not in plan, plan
