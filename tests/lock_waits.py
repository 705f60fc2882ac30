"""Work in threads that waits for a lock, as PostgreSQL sees it."""

from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from django.db import connection, connections

R = TypeVar("R")


def open_session(**options: Any) -> psycopg.Connection:
    """Open a session of the test database beside Django's own."""
    settings = {**connection.get_connection_params(), "cursor_factory": psycopg.Cursor}
    settings.pop("context", None)
    return psycopg.connect(**settings, **options)


def is_waited_for(pid: int, session: psycopg.Connection) -> bool:
    """Whether another session waits for a lock of the one with this process id."""
    waits = session.execute("SELECT count(*) FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))", [pid])
    return waits.fetchone() != (0,)


def in_thread(work: Callable[..., R], *arguments: object) -> R:
    """Call `work` in a thread of its own, and release the thread's connection."""
    try:
        return work(*arguments)
    finally:
        connections.close_all()
