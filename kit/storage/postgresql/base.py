"""Django's PostgreSQL backend with a bound on statements, and a pool that recovers at once from a server restart."""

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
            pool._check = lambda connection: check(pool, connection)  # Django lets no option choose it
        return pool

    def get_new_connection(self, conn_params: dict[str, object]) -> Connection:
        connection: Connection = super().get_new_connection(conn_params)
        wanted = statements.milliseconds()
        # Sent only when it changes: most requests have the same bound, and a round trip each would cost too much.
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
    """Drains the pool when one connection has ended, for the others have too: trying them one by one takes longer.

    A server that ends a connection says so on it. While nothing is there to be read, nothing has to be asked.
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
