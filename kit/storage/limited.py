"""Statements with their own time limit, below the request's (kit.statements)."""

from contextlib import nullcontext
from typing import TYPE_CHECKING

from django.db import OperationalError, connection, transaction

from kit import statements

if TYPE_CHECKING:  # exists only in the type stubs
    from django.db.backends.utils import _ExecuteParameters


class TookTooLong(Exception):
    """The statement hit its time limit."""


def number_within(seconds: float, sql: str, parameters: "_ExecuteParameters") -> int:
    """Return the number that a statement selects, 0 for null. Raises TookTooLong after `seconds`.

    An enclosing transaction stays usable.
    """
    limit = seconds if (bound := statements.bound.get()) is None else min(seconds, bound.seconds)
    try:
        if connection.vendor == "sqlite":
            with statements.time_limit(limit), connection.cursor() as cursor:
                cursor.execute(sql, parameters)
                return int(cursor.fetchone()[0] or 0)
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            return number_with_timeout(limit, sql, parameters)
    except OperationalError as error:
        if not statements.was_ended(error) or statements.is_for_nobody():
            raise
        raise TookTooLong from error


def number_with_timeout(seconds: float, sql: str, parameters: "_ExecuteParameters") -> int:
    """Run the statement with a timeout on PostgreSQL, in one message: without a transaction, that makes it one."""
    before, during = statements.milliseconds(), max(1, int(seconds * 1000))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SET LOCAL statement_timeout = {during}; {sql}; SET LOCAL statement_timeout = {before}", parameters
        )
        cursor.nextset()
        return int(cursor.fetchone()[0] or 0)
