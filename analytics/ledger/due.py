"""Charges that fall due by themselves, such as recurring fees.

Whatever adds up the ledger calls `book_due` first, so that figures never depend on a background job. The job books
what nobody reads.
"""

from collections.abc import Callable
from datetime import datetime

from kit.storage.clocks import watch
from kit.storage.reading import stored_now

Failures = dict[str, Exception]  # the first one of each account
# Each books what is due at a moment, of one account or of all, and returns how many charges and the failures.
bookers: list[Callable[[str | None, datetime], tuple[int, Failures]]] = []


def book_due(account_id: str | None) -> None:
    """Book the charges that are due, of the account or of all.

    A charge that cannot be booked is left to the job, which logs it.
    """
    for book in bookers:
        book(account_id, stored_now())


def book_all(until: datetime) -> tuple[int, Failures]:
    """Book the charges of all accounts that are due at a moment; return how many, and the failures."""
    booked, failed = 0, Failures()
    for book in bookers:
        count, failures = book(None, until)
        booked += count
        failed = {**failures, **failed}
    return booked, failed


def book_regularly() -> int:
    """Book all charges that are due now; return how many. A process with a wrong clock books none.

    If an account fails, books those of the others and raises its error.
    """
    if not watch.agrees():
        return 0
    booked, failed = book_all(stored_now())
    for error in failed.values():
        raise error
    return booked
