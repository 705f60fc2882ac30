"""Prepared statements for queries that nearly every request runs, where planning costs more than execution."""

from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections

from kit.storage.postgresql.poolers import keeps_no_session_state


def prepared_cursor() -> Any:
    """Return a cursor that prepares each statement on first use, unlike Django's own.

    Parameters are bound by the server, so the statement may have to declare their types. Returns an ordinary cursor on
    SQLite, because Python caches prepared statements there, and behind a pooler that shares out sessions by
    transaction, where a prepared statement is lost with its session.
    """
    own: Any = connections[DEFAULT_DB_ALIAS]  # Django's `connection` proxy looks it up for every attribute
    if own.vendor != "postgresql" or keeps_no_session_state():
        return own.cursor()
    own.ensure_connection()
    own.connection.prepare_threshold = 0
    return own.make_cursor(psycopg.Cursor(own.connection))
