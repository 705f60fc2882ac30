"""Close months: store the figures of their statements permanently.

A month is closed an hour after its end, or later: no transaction that began before then may still be open, because it
may hold an entry of the month. Such a transaction waits for a lost synchronous standby, for example.
"""

from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Min

from accounts.models import Account
from analytics.ledger.due import FAILURES, book_due, check_usable
from analytics.models import ClosedLine, Entry, StatementBook, WalletEntry
from analytics.rollups.definitions import adapt, prepare
from analytics.statements.sql_views import LINE_COLUMNS, STATEMENT_COLUMNS
from kit.storage.clocks import watch
from kit.storage.reading import committed_until, stored_now
from kit.storage.sqlite_turns import turn_to_write
from kit.values.calendar import Months

CLOSES_AFTER = timedelta(hours=1)
SHORTEST_MONTH = timedelta(days=26)  # February, less a change of time zone
INSERT_LINES = f"""
INSERT INTO analytics_closedline ({LINE_COLUMNS})
SELECT {LINE_COLUMNS} FROM analytics_openline WHERE account_id = %s AND month = %s"""  # noqa: S608 - constants
INSERT_STATEMENTS = f"""
INSERT INTO analytics_closedstatement ({STATEMENT_COLUMNS}, closed_at)
SELECT {STATEMENT_COLUMNS}, %s FROM analytics_openstatement WHERE account_id = %s AND month = %s"""  # noqa: S608


def close_due(now: datetime | None = None) -> int:
    """Close every month that is over, for all accounts, one transaction each. Returns the number of closed months.

    A process with a wrong clock closes none. If an account fails, closes those of the others and raises its error.
    """
    if not watch.agrees():
        return 0
    until = committed_until(now or stored_now()) - CLOSES_AFTER
    # Fees, expiries and refills before the end of a month belong to it.
    _, failed = book_due(None, until)
    closed = 0
    for account in Account.objects.exclude(statementbook__closed_until__gt=until - SHORTEST_MONTH):
        try:
            while account.pk not in failed and close_next(account.pk, until):
                closed += 1
        except FAILURES as error:
            check_usable(error)
            failed[account.pk] = error
    for failure in failed.values():
        raise failure
    return closed


def close_next(account_id: str, until: datetime) -> bool:
    """Close the account's first open month if it was over at `until`. Returns False if there is none to close.

    If several processes close the same month, only the first one does.
    """
    with turn_to_write(), transaction.atomic():
        # Its time zone stays until the commit.
        months = Account.objects.select_for_update(no_key=True).get(pk=account_id).months
        book = lock_book(account_id, months, until)
        if book is None or months.following(book.closed_until) > until:
            return False
        month = months.month_of(book.closed_until)
        book.closed_until = months.following(book.closed_until)
        with connection.cursor() as cursor:
            account, first = prepare(ClosedLine, "account_id", account_id), f"{month:%Y-%m-%d}"
            cursor.execute(INSERT_LINES, [account, first])
            cursor.execute(INSERT_STATEMENTS, [adapt(stored_now()), account, first])
        book.save(update_fields=["closed_until"])
        return True


def lock_book(account_id: str, months: Months, until: datetime) -> StatementBook | None:
    """Lock the account's book, creating it if needed. Returns None if the account has no month to close."""
    books = StatementBook.objects.select_for_update().filter(account_id=account_id)
    if (book := books.first()) is None:
        booked = (Entry, WalletEntry)
        moments = [model._default_manager.filter(account_id=account_id).aggregate(Min("created")) for model in booked]
        first = min((one["created__min"] for one in moments if one["created__min"] is not None), default=None)
        if first is None or months.following(first) > until:
            return None
        begin = months.start(months.month_of(first))
        StatementBook.objects.bulk_create(
            [StatementBook(account_id=account_id, closed_until=begin)], ignore_conflicts=True
        )
        book = books.get()
    return book
