"""Close months: store the figures of their statements permanently.

A month is closed an hour after its end, or later: no transaction that began before then may still be open, because it
may hold an entry of the month. Such a transaction waits for a lost synchronous standby, for example.
"""

from datetime import UTC, datetime, timedelta

from django.db import connection, transaction
from django.db.models import Min

from accounts.models import Account
from analytics.models import ClosedLine, LedgerEntry, Payment, StatementBook, WalletEntry
from analytics.rollups.upserts import adapt, prepare
from analytics.statements.database import LINE_COLUMNS, STATEMENT_COLUMNS
from analytics.wallets.upkeep import FAILURES, check_usable, settle_possible
from kit.storage.clocks import watch
from kit.storage.reading import committed_until, stored_now
from kit.storage.sqlite_turns import turn_to_write

CLOSES_AFTER = timedelta(hours=1)
INSERT_LINES = f"""
INSERT INTO analytics_closedline ({LINE_COLUMNS})
SELECT {LINE_COLUMNS} FROM analytics_openline WHERE account_id = %s AND month = %s"""  # noqa: S608 - constants
INSERT_STATEMENTS = f"""
INSERT INTO analytics_closedstatement ({STATEMENT_COLUMNS}, closed_at)
SELECT {STATEMENT_COLUMNS}, %s FROM analytics_openstatement WHERE account_id = %s AND month = %s"""  # noqa: S608


def month_of(moment: datetime) -> datetime:
    """Return the first moment of the UTC month."""
    return moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def month_after(month: datetime) -> datetime:
    return month_of(month + timedelta(days=32))


def close_due(now: datetime | None = None) -> int:
    """Close every month that is over, for all accounts, one transaction each. Returns the number of closed months.

    A process with a wrong clock closes none. If an account fails, closes those of the others and raises its error.
    """
    if not watch.agrees():
        return 0
    end = month_of(committed_until(now or stored_now()) - CLOSES_AFTER)
    _, failed = settle_possible(end)  # expiries and refills before `end` belong to the closing months
    closed = 0
    for account_id in Account.objects.exclude(statementbook__closed_until__gte=end).values_list("pk", flat=True):
        try:
            while account_id not in failed and close_next(account_id, end):
                closed += 1
        except FAILURES as error:
            check_usable(error)
            failed[account_id] = error
    for failure in failed.values():
        raise failure
    return closed


def close_next(account_id: str, end: datetime) -> bool:
    """Close the account's first open month if it is before `end`. Returns False if there is none to close.

    If several processes close the same month, only the first one does.
    """
    with turn_to_write(), transaction.atomic():
        book = lock_book(account_id, end)
        if book is None or book.closed_until >= end:
            return False
        month = book.closed_until
        book.closed_until = month_after(month)
        with connection.cursor() as cursor:
            account, first = prepare(ClosedLine, "account_id", account_id), f"{month:%Y-%m-%d}"
            cursor.execute(INSERT_LINES, [account, first])
            cursor.execute(INSERT_STATEMENTS, [adapt(stored_now()), account, first])
        book.save(update_fields=["closed_until"])
        return True


def lock_book(account_id: str, end: datetime) -> StatementBook | None:
    """Lock the account's book, creating it if needed. Returns None if the account has no month to close."""
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
