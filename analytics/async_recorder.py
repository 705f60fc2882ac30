"""The recorder on the event loop: the same statement on a connection that no thread has to be woken for."""

import asyncio
import select
from collections.abc import Sequence
from typing import Any

import psycopg
from django.db import OperationalError, connection

from analytics.batches import Batch, Entry, Outcome

SECONDS_TO_WAIT = 20
# PostgreSQL went away, or could not do its work: no room for a file, a disk that fails.
NOT_DONE = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)
OF_DJANGO = {"pool", "cursor_factory", "context", "prepare_threshold"}  # settings that mean nothing here


class AsyncRecorder:
    """Connections of this process to PostgreSQL, one for each call at a time, kept for the next."""

    def __init__(self) -> None:
        self.idle: list[psycopg.AsyncConnection[Any]] = []

    async def record(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Writes the decisions, in one transaction. Raises Django's OperationalError; then nothing is answered."""
        batch = Batch(entries)
        used: psycopg.AsyncConnection[Any] | None = None
        try:
            async with asyncio.timeout(SECONDS_TO_WAIT):
                used = await self.connection()
                cursor = await used.execute(*batch.statement(), prepare=True)
                row: Any = await cursor.fetchone()
        except (*NOT_DONE, TimeoutError) as error:
            await close(used)
            raise OperationalError(str(error) or type(error).__name__) from error
        except BaseException:
            await close(used)  # whatever is under way on it is nobody's answer
            raise
        self.idle.append(used)
        return batch.read_row(row)

    async def connection(self) -> psycopg.AsyncConnection[Any]:
        while self.idle:
            used = self.idle.pop()
            if not has_ended(used):
                return used
            await close(used)
        return await self.connect()

    async def connect(self) -> psycopg.AsyncConnection[Any]:
        given: dict[str, Any] = connection.get_connection_params()
        parameters = {name: value for name, value in given.items() if name not in OF_DJANGO}
        return await psycopg.AsyncConnection.connect(**parameters, autocommit=True, prepare_threshold=0)


async def close(broken: psycopg.AsyncConnection[Any] | None) -> None:
    if broken is not None:
        await broken.close()


def has_ended(idle: psycopg.AsyncConnection[Any]) -> bool:
    """Whether a restarted server has closed the connection: nothing else is ever there to be read between statements.

    To be known before a statement is sent: one that failed may have been committed, and cannot be sent again.
    """
    if idle.closed:
        return True
    poll = select.poll()
    poll.register(idle.fileno(), select.POLLIN)
    return bool(poll.poll(0))
