"""An account's epoch: a number that every change of what a check depends on raises, in the change's own transaction.

What a process has cached of an account is valid for one epoch. A decision made on cached facts is recorded only if the
epoch that they were read at still holds (analytics.recording.recorder), so a check that begins after a write's reply
sees the write: in every process, with Redis or without, whoever wrote it.
"""

from django.db import connection

from accounts.models import Account
from kit.storage.prepared import prepared_cursor


def hold(account_id: str) -> int:
    """Lock the account's epoch until the transaction ends, and return it.

    Writes that lock the same rows as checks do (requesters, revenue totals) call it first, so that all of them lock in
    the same order.
    """
    return Account.objects.select_for_update(no_key=True).values_list("epoch", flat=True).get(pk=account_id)


def bump(account_id: str) -> None:
    """Invalidate what processes have cached of the account, as of the commit.

    Call it last in the transaction: it locks the account's row, which serializes the writes of an account.
    """
    key = Account._meta.pk.get_db_prep_value(account_id, connection)
    with prepared_cursor() as cursor:
        cursor.execute("UPDATE accounts_account SET epoch = epoch + 1 WHERE id = %s", [key])
