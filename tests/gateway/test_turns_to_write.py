from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from accounts.models import Account
from kit.storage.sqlite_turns import turn_to_write
from licensing.requesters.reserved_keys import reserve_numbers


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL needs no turns.")
def test_a_transaction_that_has_begun_waits_for_no_turn(account):
    """The holder of the turn waits for the database's lock, which the transaction holds."""

    def write() -> list[int]:
        try:
            with transaction.atomic():
                Account.objects.filter(pk=account.pk).update(name="Renamed")
                return reserve_numbers(1)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads, turn_to_write():
        assert len(threads.submit(write).result(60)) == 1
