"""Prepared statements for queries that nearly every request runs, where planning costs more than execution."""

from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections


def prepared_cursor() -> Any:
    """Return a cursor that prepares each statement on first use, unlike Django's own.

    Parameters are bound by the server, so the statement may have to declare their types. On SQLite it returns an
    ordinary cursor, because Python caches prepared statements there.
    """
    own: Any = connections[DEFAULT_DB_ALIAS]  # Django's `connection` proxy looks it up for every attribute
    if own.vendor != "postgresql":
        return own.cursor()
    own.ensure_connection()
    own.connection.prepare_threshold = 0
    return own.make_cursor(psycopg.Cursor(own.connection))
