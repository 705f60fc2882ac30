"""Credit that is added, and terms that are changed, at the moment at which a customer is merged."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from django.db import connection, transaction

from analytics.models import Wallet
from licensing.customers.merging import merge
from licensing.requesters.models import Requester
from tests import factories
from tests.client import ApiClient
from tests.lock_waits import in_thread, on_postgresql, open_session, wait_until_blocked

pytestmark = [pytest.mark.django_db(transaction=True), on_postgresql]


def during_a_merge(account, work):
    """Start the work while a merge of org_a into org_b holds its locks; return the work's result after the commit."""
    source = Requester.objects.get(account=account, requester_id="org_a")
    with ThreadPoolExecutor(1) as pool, closing(open_session()) as other:
        with transaction.atomic():
            merge(source, "org_b")
            working = pool.submit(in_thread, work)
            waiting = wait_until_blocked(working, connection.connection.info.backend_pid, other)
            assert waiting, working.result()
        return working.result()


def account_with_wallets(*holders):
    """Return an account whose customers org_a and org_b exist, and a EUR wallet of each of the holders."""
    account = factories.account()
    for org in ("org_a", "org_b"):
        factories.requester(account, requester_id=org)
    wallets = {org: factories.wallet(account, "EUR", requester_id=org)["wallet"] for org in holders}
    return account, ApiClient(factories.key_text(account)), wallets


def test_credit_for_a_wallet_that_a_merge_moves_is_added_to_it():
    account, api, wallets = account_with_wallets("org_a")
    path = f"/v1/wallets/{wallets['org_a']}"
    granted = during_a_merge(account, lambda: api.post(f"{path}/grants", {"amount": 5}))
    assert granted.status == 201
    assert (api.get(path)["requesterId"], api.get(path)["balance"]) == ("org_b", 15)


def test_no_credit_is_added_to_a_wallet_that_a_merge_empties():
    account, api, wallets = account_with_wallets("org_a", "org_b")
    path = f"/v1/wallets/{wallets['org_a']}"
    granted = during_a_merge(account, lambda: api.post(f"{path}/grants", {"amount": 5}))
    assert (granted.status, granted.error["code"]) == (409, "resource_in_use")
    assert wallets["org_b"] in granted.error["message"]
    assert Wallet.objects.get(pk=wallets["org_a"]).balance == 0


def test_a_change_with_if_match_finds_the_wallet_that_a_merge_moves():
    account, api, wallets = account_with_wallets("org_a")
    path = f"/v1/wallets/{wallets['org_a']}"
    headers = {"If-Match": api.get(path).headers["ETag"]}
    changed = during_a_merge(account, lambda: api.patch(path, {"floor": -5}, headers=headers))
    assert (changed.status, changed.error["code"]) == (412, "precondition_failed")
