"""Connection poolers such as PgBouncer that share out PostgreSQL's sessions by transaction.

By default the service keeps prepared statements and settings in its sessions. Behind such a pooler its statements
would fail, or run with another client's settings. With DATABASE_POOLING=transaction it keeps neither. A pooler that
gives each client a session of its own does no harm.
"""

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, connections
from psycopg.conninfo import make_conninfo

DJANGO_OPTIONS = {
    "pool",
    "cursor_factory",
    "context",
    "prepare_threshold",
}  # Django's settings that psycopg does not know


def connection_string(alias: str = DEFAULT_DB_ALIAS) -> str:
    """Return the connection string of Django's PostgreSQL database, for connections that Django does not open."""
    given = connections[alias].get_connection_params()
    return make_conninfo(**{name: value for name, value in given.items() if name not in DJANGO_OPTIONS})


def keeps_no_session_state() -> bool:
    """Whether to keep nothing in a session (DATABASE_POOLING=transaction)."""
    return bool(settings.DATABASE_POOLING == "transaction")


def are_sessions_shared() -> bool:
    """Whether two open connections can be served by one session of PostgreSQL. False on SQLite.

    The second connection gets the session that the first has just given back, unless a busy pooler handed it to
    somebody else; hence several attempts. Raises Django's OperationalError.
    """
    if connection.vendor != "postgresql":
        return False
    target = connection_string()
    try:
        with (
            psycopg.connect(target, autocommit=True, prepare_threshold=None) as one,
            psycopg.connect(target, autocommit=True, prepare_threshold=None) as other,
        ):
            return any(session_id(one) == session_id(other) for _ in range(20))
    except psycopg.OperationalError as error:
        raise OperationalError(str(error)) from error


def session_id(opened: psycopg.Connection) -> int:
    [row] = opened.execute("SELECT pg_backend_pid()").fetchall()
    return int(row[0])
