"""An account's epoch: a number that every change of what a check depends on raises, in the change's own transaction.

What a process has cached of an account is valid for one epoch. A decision made on cached facts is recorded only if the
epoch that they were read at still holds (analytics.recording.recorder), so a check that begins after a write's reply
sees the write: in every process, with Redis or without, whoever wrote it.
"""

from django.db.models import F

from accounts.models import Account


def hold(account_id: str) -> int:
    """The account's epoch, which now stays until the transaction ends.

    For writes that lock what checks lock too (requesters, totals of money): each begins with it, so that none of them
    waits here for another that waits for its rows.
    """
    return Account.objects.select_for_update(no_key=True).values_list("epoch", flat=True).get(pk=account_id)


def bump(account_id: str) -> None:
    """Ends what is cached of the account, when the transaction commits.

    Call it last in the transaction: it locks the account's row, and writes of one account wait for each other here.
    """
    Account.objects.filter(pk=account_id).update(epoch=F("epoch") + 1)
