"""Statements that PostgreSQL plans with given settings."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TypeVar, cast

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

R = TypeVar("R")


def with_settings(sql: str, settings: Mapping[str, str]) -> str:
    """Return a message that runs a statement with PostgreSQL's settings. Its rows follow a result for each setting."""
    begin = "".join(f"SET LOCAL {name} = {value}; " for name, value in settings.items())
    return begin + sql + "".join(f"; SET LOCAL {name} = DEFAULT" for name in settings)


def planned(using: BaseDatabaseWrapper, settings: Mapping[str, str]) -> AbstractContextManager[None]:
    """Let PostgreSQL plan the block's statements with these settings."""

    def set_locally(
        execute: Callable[..., R], sql: str, params: object, many: bool, context: Mapping[str, object]
    ) -> R:
        result = execute(with_settings(sql, settings), params, many, context)
        for _ in settings:
            cast(CursorWrapper, context["cursor"]).cursor.nextset()
        return result

    return using.execute_wrapper(set_locally)
