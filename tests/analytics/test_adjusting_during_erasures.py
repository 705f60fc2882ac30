from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from analytics.models import LedgerEntry
from tests import factories
from tests.client import ApiClient
from tests.lock_waits import in_thread, on_postgresql, open_session, wait_until_blocked

pytestmark = [pytest.mark.django_db(transaction=True), on_postgresql]


def test_a_sale_that_is_added_during_an_erasure_does_not_name_the_person():
    account = factories.account()
    api = ApiClient(factories.key_text(account))
    api.post("/v1/requesters", {"id": "org_ada"})
    sale = {"amount": 5, "currency": "EUR", "requesterId": "org_ada", "description": "Reprint for Ada"}
    with closing(open_session()) as holder, closing(open_session()) as other, ThreadPoolExecutor(2) as pool:
        holder.execute("LOCK TABLE analytics_recentrevenue IN EXCLUSIVE MODE")  # the adjustment's last insert waits
        adding = pool.submit(in_thread, api.post, "/v1/revenue", sale)
        [pid] = wait_until_blocked(adding, holder.info.backend_pid, other)
        erasing = pool.submit(in_thread, api.delete, "/v1/requesters/org_ada")
        wait_until_blocked(erasing, pid, other)  # it ends if nothing makes it wait for the sale
        holder.rollback()
        assert (adding.result().status, erasing.result().status) == (201, 200)
    assert set(LedgerEntry.objects.values_list("description", flat=True)) == {None}
    audit = api.get("/v1/audit?action=ledger_entry.created")
    assert "org_ada" not in audit.content.decode()
    assert "org_ada" not in api.get("/v1/events?type=revenue.adjusted").content.decode()
