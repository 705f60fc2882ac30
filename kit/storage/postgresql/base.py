"""Django's PostgreSQL backend, with a pool that is over a restart of the server at once, and a bound on statements."""

from typing import Any

from django.db.backends.postgresql import base
from psycopg_pool import ConnectionPool

from kit import statements


class DatabaseWrapper(base.DatabaseWrapper):
    @property
    def pool(self) -> Any:
        pool = super().pool
        if pool is not None:
            pool._check = lambda connection: check(pool, connection)  # Django lets no option choose it
        return pool

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection: Any = super().get_new_connection(conn_params)
        wanted = statements.milliseconds()
        # Told only when it changes: most requests have the same bound, and it would cost each a round trip.
        if getattr(connection, "statement_milliseconds", 0) != wanted:
            try:
                connection.execute(f"SET statement_timeout = {wanted}")
            except Exception:
                if self.pool:
                    self.pool.putconn(connection)
                raise
            connection.statement_milliseconds = wanted
        return connection


def check(pool: Any, connection: Any) -> None:
    """Where one connection has ended, the others have too; tried one by one, the pool would wait longer each time."""
    try:
        ConnectionPool.check_connection(connection)
    except Exception:
        pool.drain()
        raise
