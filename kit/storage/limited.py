"""Statements with their own time limit, below the request's (kit.statement_timeout)."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar, cast

from django.db import OperationalError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from kit import statement_timeout

if TYPE_CHECKING:  # exists only in the type stubs
    from django.db.backends.utils import _ExecuteParameters


class TookTooLong(Exception):
    """The statement hit its time limit."""


def number_within(seconds: float, sql: str, parameters: "_ExecuteParameters") -> int:
    """Return the number that a statement selects, 0 for null. Raises TookTooLong after `seconds`.

    An enclosing transaction stays usable.
    """
    [[number]] = rows_within(connection, seconds, sql, parameters)
    return int(cast("int | None", number) or 0)


def rows_within(
    using: BaseDatabaseWrapper,
    seconds: float,
    sql: str,
    parameters: "_ExecuteParameters",
    settings: Mapping[str, str] = MappingProxyType({}),
) -> list[tuple[object, ...]]:
    """Return the rows that a statement selects. Raises TookTooLong after `seconds`.

    PostgreSQL plans it with these settings. An enclosing transaction stays usable.
    """
    limit = seconds if (bound := statement_timeout.bound.get()) is None else min(seconds, bound.seconds)
    try:
        if using.vendor == "sqlite":
            with statement_timeout.time_limit(limit), using.cursor() as cursor:
                cursor.execute(sql, parameters)
                return list(cursor.fetchall())
        with transaction.atomic(using.alias) if using.in_atomic_block else nullcontext():
            return rows_with_timeout(using, limit, sql, parameters, settings)
    except OperationalError as error:
        if not statement_timeout.was_ended(error) or statement_timeout.is_for_nobody():
            raise
        raise TookTooLong from error


def rows_with_timeout(
    using: BaseDatabaseWrapper, seconds: float, sql: str, parameters: "_ExecuteParameters", settings: Mapping[str, str]
) -> list[tuple[object, ...]]:
    """Run the statement with a timeout on PostgreSQL, in one message: without a transaction, that makes it one."""
    before, during = statement_timeout.milliseconds(), max(1, int(seconds * 1000))
    planned = with_settings(sql, settings)
    with using.cursor() as cursor:
        cursor.execute(
            f"SET LOCAL statement_timeout = {during}; {planned}; SET LOCAL statement_timeout = {before}", parameters
        )
        for _ in ("statement_timeout", *settings):
            cursor.nextset()
        return list(cursor.fetchall())


R = TypeVar("R")


def with_settings(sql: str, settings: Mapping[str, str]) -> str:
    """Return a message that runs a statement with PostgreSQL's settings. Its rows follow a result for each setting."""
    begin = "".join(f"SET LOCAL {name} = {value}; " for name, value in settings.items())
    return begin + sql + "".join(f"; SET LOCAL {name} = DEFAULT" for name in settings)


def planned(using: BaseDatabaseWrapper, settings: Mapping[str, str]) -> AbstractContextManager[None]:
    """Let PostgreSQL plan the block's statements with these settings. Does nothing on SQLite."""
    if using.vendor != "postgresql":
        return nullcontext()

    def set_locally(
        execute: Callable[..., R], sql: str, params: object, many: bool, context: Mapping[str, object]
    ) -> R:
        result = execute(with_settings(sql, settings), params, many, context)
        for _ in settings:
            cast(CursorWrapper, context["cursor"]).cursor.nextset()
        return result

    return using.execute_wrapper(set_locally)
