from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from functools import partial
from random import Random

import pytest
from django.db.models import Sum
from django.utils import timezone

from analytics.ledger.entries import add_entries
from analytics.ledger.services import adjust
from analytics.models import ContentRevenue, LedgerEntry, RequesterRevenue, TierRevenue
from analytics.rollups.roll_up import roll_up
from tests import factories
from tests.client import ApiClient
from tests.ledger import entry, requester
from tests.lock_waits import at_once, in_thread, on_postgresql, open_session, wait_until_blocked

pytestmark = pytest.mark.django_db(transaction=True)
IN_ORDER = ["contentrevenue", "contentrevenueyear", "requesterrevenue", "requesterrevenueyear", "tierrevenue"]


@pytest.fixture
def charged():
    """Add to existing rows of every rollup."""
    account = factories.account()
    item = factories.content(account, policy_id=factories.policy(account).pk)
    factories.license(account, per_access="0.05", license_type="commercial")
    api, check = ApiClient(factories.key_text(account)), {"contentId": item.pk, "requester": "org_acme"}

    def charge():
        assert api.post("/v1/access/check", check)["charge"]

    charge()
    roll_up()
    charge()  # is pending


@on_postgresql
@pytest.mark.usefixtures("charged")
@pytest.mark.parametrize("blocked", IN_ORDER)
def test_a_roll_up_that_waits_for_a_row_holds_no_later_row(blocked):
    with closing(open_session()) as holder, closing(open_session()) as other:
        holder.execute(f"SELECT FROM analytics_{blocked} FOR UPDATE")
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(in_thread, roll_up)
            assert wait_until_blocked(waiting, holder.info.backend_pid, other)
            for later in IN_ORDER[IN_ORDER.index(blocked) + 1 :]:
                rows = other.execute(f"SELECT FROM analytics_{later} FOR UPDATE NOWAIT").fetchall()
                assert rows, f"nothing in {later}"
            other.rollback()
            holder.rollback()
            waiting.result()


def test_adjustments_in_opposite_orders_beside_roll_ups_are_all_counted():
    account = factories.account()
    items = [factories.content(account).pk for _ in range(4)]
    for name in range(4):
        requester(account, f"org_{name}")

    def adjust_all(worker):
        order = list(range(16)) if worker % 2 else list(reversed(range(16)))
        for number in order:
            fields = {"content_id": items[number % 4], "requester_id": f"org_{number // 4}"}
            adjust(account.pk, {"amount": Decimal(1), "currency": "USD", **fields})

    def add_all(worker):
        chance, earlier = Random(worker), timezone.now() - timedelta(hours=1)
        about = [(item, requester(account, f"org_{org}").pk) for item in items for org in range(4)]
        for _ in range(4):
            chance.shuffle(about)
            add_entries([entry(account, content_id=one, requester_id=org, occurred_at=earlier) for one, org in about])
            roll_up()

    at_once(partial(adjust_all, 0), partial(adjust_all, 1), partial(add_all, 2), partial(add_all, 3))
    roll_up()
    assert LedgerEntry.objects.count() == 2 * 16 + 2 * 4 * 16
    for model in (ContentRevenue, RequesterRevenue, TierRevenue):
        assert model.objects.aggregate(sum=Sum("amount"))["sum"] == 2 * 16 + 2 * 4 * 16
