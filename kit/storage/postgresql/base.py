"""Django's PostgreSQL backend with a time limit on statements and a pool that recovers fast from a restart."""

from select import POLLIN, poll

from django.db.backends.postgresql import base
from psycopg import Connection
from psycopg_pool import ConnectionPool

from kit import statements


class DatabaseWrapper(base.DatabaseWrapper):
    @property
    def pool(self) -> ConnectionPool | None:
        pool: ConnectionPool | None = super().pool
        if pool is not None:
            pool._check = lambda connection: check(pool, connection)  # Django offers no option for it
        return pool

    def get_new_connection(self, conn_params: dict[str, object]) -> Connection:
        connection: Connection = super().get_new_connection(conn_params)
        wanted = statements.milliseconds()
        # Sent only on a change: most requests have the same limit, and a round trip each would be expensive.
        if getattr(connection, "statement_milliseconds", 0) != wanted:
            try:
                connection.execute(f"SET statement_timeout = {wanted}")
            except Exception:
                if self.pool:
                    self.pool.putconn(connection)
                raise
            vars(connection)["statement_milliseconds"] = wanted
        return connection


def check(pool: ConnectionPool, connection: Connection) -> None:
    """Check a pooled connection; if the server has closed it, drain the pool, because the others are closed too.

    A server that closes a connection sends a message first, so a connection without unread input needs no query.
    """
    said = poll()
    said.register(connection.fileno(), POLLIN)
    if not said.poll(0):
        return
    try:
        ConnectionPool.check_connection(connection)
    except Exception:
        pool.drain()
        raise
