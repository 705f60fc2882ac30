"""Statements that nearly every request runs: to plan one costs PostgreSQL more than to run it."""

from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections


def prepared_cursor() -> Any:
    """A cursor of Django's connection that prepares each statement, once for the connection; Django's own never do.

    Its parameters stay apart from the statement, which may have to say of what type they are. On SQLite an ordinary
    cursor, for there Python keeps statements prepared.
    """
    own: Any = connections[DEFAULT_DB_ALIAS]  # Django's `connection` looks it up for each attribute
    if own.vendor != "postgresql":
        return own.cursor()
    own.ensure_connection()
    own.connection.prepare_threshold = 0
    return own.make_cursor(psycopg.Cursor(own.connection))
