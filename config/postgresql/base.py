"""Django's PostgreSQL backend, with a pool that is over a restart of the server at once."""

from typing import Any

from django.db.backends.postgresql import base
from psycopg_pool import ConnectionPool


class DatabaseWrapper(base.DatabaseWrapper):
    @property
    def pool(self) -> Any:
        pool = super().pool
        if pool is not None:
            pool._check = lambda connection: check(pool, connection)  # Django lets no option choose it
        return pool


def check(pool: Any, connection: Any) -> None:
    """Where one connection has ended, the others have too; tried one by one, the pool would wait longer each time."""
    try:
        ConnectionPool.check_connection(connection)
    except Exception:
        pool.drain()
        raise
