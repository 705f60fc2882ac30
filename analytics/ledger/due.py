"""Stores changes that fall due by themselves: fees of licences, and ends and refills of credit.

Whatever adds up the ledger or wallets calls `book_due` first, so that figures never depend on a background job. The
job books what nobody reads.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import DatabaseError, connection
from django.db.models import QuerySet

from kit.storage.clocks import watch
from kit.storage.reading import stored_now

Failures = dict[str, Exception]  # the first one of each account
FAILURES = (DatabaseError, OverflowError)  # of a single row, such as an amount that the database cannot hold
# Each books what is due at a moment, of one account or of all, and returns how much that was and the failures.
Booker = Callable[[str | None, datetime], tuple[int, Failures]]
bookers: list[Booker] = []  # of entries of the ledger
credit_bookers: list[Booker] = []  # of wallets, which no revenue depends on


def book_due(account_id: str | None, until: datetime | None = None) -> tuple[int, Failures]:
    """Book what is due at a moment (now, unless given), of the account or of all.

    Returns how many, and the failures. Readers ignore failures, because the job logs them.
    """
    return book_by([*bookers, *credit_bookers], account_id, until or stored_now())


def book_charges(account_id: str) -> None:
    """Book what is due of the account's ledger, for readers of nothing but revenue."""
    book_by(bookers, account_id, stored_now())


def book_by(chosen: list[Booker], account_id: str | None, until: datetime) -> tuple[int, Failures]:
    booked, failed = 0, Failures()
    for book in chosen:
        count, failures = book(account_id, until)
        booked += count
        failed = {**failures, **failed}
    return booked, failed


def book_regularly() -> int:
    """Book everything that is due now; return how much that was. A process with a wrong clock books none.

    If an account fails, books those of the others and raises its error.
    """
    if not watch.agrees():
        return 0
    booked, failed = book_due(None)
    for error in failed.values():
        raise error
    return booked


def store_due(
    due: QuerySet[Any],
    store: Callable[[list[Any]], int],
    batch_size: int,
    failures: tuple[type[Exception], ...] = FAILURES,
) -> tuple[int, Failures]:
    """Let `store` store what is due of rows, in batches, and row by row where a batch fails.

    `store` stores a batch in one transaction, after which its rows are not due any more. It returns how many changes
    it stored. Returns their number, and the failures.
    """
    stored, failed, stuck = 0, Failures(), set[object]()
    while batch := list(due.exclude(pk__in=stuck)[:batch_size]):
        for rows in (batch, *([row] for row in batch)):
            try:
                stored += store(rows)
            except failures as error:
                check_usable(error)
                if len(rows) == 1:
                    stuck.add(rows[0].pk)
                    failed.setdefault(rows[0].account_id, error)
            else:
                if rows is batch:
                    break
    return stored, failed


def check_usable(error: Exception) -> None:
    """Raise the error if the connection is lost: then nothing else can be done either."""
    if not connection.is_usable():
        raise error
