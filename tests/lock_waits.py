"""Work in threads that waits for a lock, as PostgreSQL sees it, and commits that come late."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Barrier
from typing import Any, TypeVar

import psycopg
import pytest
from django.db import connection, connections
from django.db.models import Model

from kit.values import ids

R = TypeVar("R")


def open_session(**options: Any) -> psycopg.Connection:
    """Open a session of the test database beside Django's own."""
    settings = {**connection.get_connection_params(), "cursor_factory": psycopg.Cursor}
    settings.pop("context", None)
    return psycopg.connect(**settings, **options)


WAITING = "SELECT pid FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"


def wait_until_blocked(work: Future[Any], pid: int, session: psycopg.Connection) -> list[int]:
    """Wait until sessions wait for a lock of the session `pid`, or the work is done. Return their process ids."""
    while True:
        rows = session.execute(WAITING, [pid]).fetchall()
        if not session.autocommit:
            session.rollback()
        if rows or work.done():
            return [row[0] for row in rows]
        time.sleep(0.01)


@contextmanager
def late_copy(row: Model) -> Iterator[psycopg.Connection]:
    """Open a session that has written a copy of the row and not committed it yet."""
    table, copied = row._meta.db_table, ids.new_id(ids.id_prefix(type(row)))
    copy = f"""INSERT INTO {table} SELECT (jsonb_populate_record(one, jsonb_build_object('id', %s::text))).*
      FROM {table} one WHERE id = %s"""  # noqa: S608 - our own table
    with open_session() as session:
        session.execute(copy, [row._meta.pk.get_db_prep_value(one, connection) for one in (copied, row.pk)])
        yield session


def in_thread(work: Callable[..., R], *arguments: object) -> R:
    """Call `work` in a thread of its own, and release the thread's connection."""
    try:
        return work(*arguments)
    finally:
        connections.close_all()


def at_once(*works: Callable[[], R]) -> list[R]:
    """Begin all works at the same moment, each in a thread of its own. Return their results."""
    begin = Barrier(len(works))

    def run(work: Callable[[], R]) -> R:
        begin.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(partial(in_thread, run), works))


on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
