"""Wait for decisions that are being recorded on outdated facts."""

import time

from django.db import connection

from kit.http.errors import ServiceUnavailable

PATIENCE_SECONDS = 60
PAUSE_SECONDS = 0.01
RECORDING = """
SELECT virtualtransaction FROM pg_locks
WHERE relation = 'analytics_accessevent'::regclass AND mode = 'RowExclusiveLock' AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) -- tables of others may share the oid
  AND pid <> pg_backend_pid()
"""


def wait_for_recordings() -> bool:
    """Wait until all statements now recording decisions have ended. Returns False on SQLite, where none can overlap.

    A statement locks the table before it takes its snapshot, so later ones see the new epoch. Raises
    ServiceUnavailable.
    """
    if connection.vendor != "postgresql":
        return False
    deadline = time.monotonic() + PATIENCE_SECONDS
    with connection.cursor() as cursor:
        cursor.execute(RECORDING)
        running = set(cursor.fetchall())
        while running:
            if time.monotonic() > deadline:
                raise ServiceUnavailable("Decisions are still being recorded. What is left is done in the background.")
            time.sleep(PAUSE_SECONDS)
            cursor.execute(RECORDING)
            running &= set(cursor.fetchall())
    return True
