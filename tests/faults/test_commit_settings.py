"""The service's connections wait until a commit is on disk, which kill -9 cannot show."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from analytics.recording.batch import AsyncRecorder
from tests.faults.conftest import ON_POSTGRESQL

pytestmark = pytest.mark.django_db(transaction=True)


def setting(statement: str) -> str | int:
    """Return the value as a server thread sees it, on its own connection."""

    def ask() -> str | int:
        try:
            with connection.cursor() as cursor:
                return cursor.execute(statement).fetchone()[0]
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(ask).result()


if ON_POSTGRESQL:

    def test_a_commit_is_confirmed_when_postgresql_has_it_on_disk() -> None:
        assert setting("SHOW synchronous_commit") == "on"

    def test_the_recorders_own_connection_waits_likewise() -> None:
        async def ask() -> bytes | None:
            own = await AsyncRecorder().sessions.connect()
            [[value]] = await own.run("SHOW synchronous_commit")
            own.close()
            return value

        assert asyncio.run(ask()) == b"on"

else:

    def test_a_commit_is_confirmed_when_sqlite_has_it_on_disk() -> None:
        assert setting("PRAGMA synchronous") == 2  # FULL
        assert setting("PRAGMA journal_mode") == "wal"
