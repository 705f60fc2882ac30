"""Closing months: what open ones add up to is written down, once and for all.

A month is closed an hour after its end, when nothing that was booked in it can still be on its way to the disk: a
commit is given up after seconds.
"""

from datetime import UTC, datetime, timedelta

from django.db import connection, transaction
from django.db.models import Min
from django.utils import timezone

from accounts.models import Account
from analytics.models import ClosedLine, LedgerEntry, Payment, StatementBook, WalletEntry
from analytics.rollups.upserts import adapted, prepared
from analytics.statements.database import LINE_COLUMNS, STATEMENT_COLUMNS
from analytics.wallets.upkeep import settle_due
from kit.storage.sqlite_turns import turn_to_write

CLOSES_AFTER = timedelta(hours=1)
INSERT_LINES = f"""
INSERT INTO analytics_closedline ({LINE_COLUMNS})
SELECT {LINE_COLUMNS} FROM analytics_openline WHERE account_id = %s AND month = %s"""  # noqa: S608 - constants
INSERT_STATEMENTS = f"""
INSERT INTO analytics_closedstatement ({STATEMENT_COLUMNS}, closed_at)
SELECT {STATEMENT_COLUMNS}, %s FROM analytics_openstatement WHERE account_id = %s AND month = %s"""  # noqa: S608


def month_of(moment: datetime) -> datetime:
    """The first moment of its UTC month."""
    return moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def month_after(month: datetime) -> datetime:
    return month_of(month + timedelta(days=32))


def close_due(now: datetime | None = None) -> int:
    """Close every month that is over, of all accounts, each in a transaction of its own; returns how many."""
    end = month_of((now or timezone.now()) - CLOSES_AFTER)
    settle_due(end)  # what ended or was refilled before belongs to the months that are over
    closed = 0
    for account_id in Account.objects.exclude(statementbook__closed_until__gte=end).values_list("pk", flat=True):
        while close_next(account_id, end):
            closed += 1
    return closed


def close_next(account_id: str, end: datetime) -> bool:
    """Close the first open month of the account, if it is before `end` and anything was booked in it or later.

    Of several processes that close the same month, all but the first find it closed.
    """
    with turn_to_write(), transaction.atomic():
        book = lock_book(account_id, end)
        if book is None or book.closed_until >= end:
            return False
        month = book.closed_until
        book.closed_until = month_after(month)
        with connection.cursor() as cursor:
            account, first = prepared(ClosedLine, "account_id", account_id), f"{month:%Y-%m-%d}"
            cursor.execute(INSERT_LINES, [account, first])
            cursor.execute(INSERT_STATEMENTS, [adapted(timezone.now()), account, first])
        book.save(update_fields=["closed_until"])
        return True


def lock_book(account_id: str, end: datetime) -> StatementBook | None:
    """The account's book, locked; made where there is none yet. None for an account that has no month to close."""
    books = StatementBook.objects.select_for_update().filter(account_id=account_id)
    if (book := books.first()) is None:
        booked = (LedgerEntry, Payment, WalletEntry)
        moments = [model._default_manager.filter(account_id=account_id).aggregate(Min("created")) for model in booked]
        first = min((one["created__min"] for one in moments if one["created__min"] is not None), default=None)
        if first is None or first >= end:
            return None
        StatementBook.objects.bulk_create(
            [StatementBook(account_id=account_id, closed_until=month_of(first))], ignore_conflicts=True
        )
        book = books.get()
    return book
