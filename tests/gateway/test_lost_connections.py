"""A connection reset by PostgreSQL is noticed at once, even with unread data, so no check waits for a reply.

The server speaks PostgreSQL's protocol up to the first statement; the event loop is the service's.
"""

import asyncio
import socket
import struct
import time
from collections.abc import Iterator
from threading import Thread
from typing import Any

import psycopg
import pytest
import uvloop

from kit.storage.async_postgres import Session
from tests.gateway.wire import until

READY = b"R" + struct.pack("!ii", 8, 0) + b"Z" + struct.pack("!i", 5) + b"I"
FIELDS = b"SNOTICE\0C00000\0Mgoing down\0\0"
NOTICE = b"N" + struct.pack("!i", 4 + len(FIELDS)) + FIELDS
RESET = struct.pack("ii", 1, 0)  # what SO_LINGER takes for a close that does not wait


class DyingServer(Thread):
    """Accept one connection and reset it after some last bytes: at once, or on the first statement."""

    def __init__(self, *, at_once: bool) -> None:
        super().__init__(daemon=True)
        self.at_once = at_once
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]

    def run(self) -> None:
        connection, _ = self.listening.accept()
        connection.recv(10_000)  # who connects, and where to
        connection.sendall(READY)
        if not self.at_once:
            connection.recv(10_000)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        connection.sendall(NOTICE)
        connection.close()


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner


async def session_with(server: DyingServer) -> Session:
    server.start()
    parameters: dict[str, Any] = {"host": "127.0.0.1", "port": server.port, "user": "any", "sslmode": "disable"}
    return Session(await psycopg.AsyncConnection.connect(**parameters, gssencmode="disable", autocommit=True))


def wait_for_both() -> None:
    """Wait until both the last bytes and the reset have arrived, so that the loop sees them together."""
    time.sleep(0.1)


def test_a_statement_fails_at_once(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        session = await session_with(DyingServer(at_once=False))
        statement = asyncio.create_task(session.run("SELECT 1"))
        await asyncio.sleep(0)
        wait_for_both()
        with pytest.raises(psycopg.OperationalError):
            await asyncio.wait_for(statement, 20)

    runner.run(scenario())


def test_between_statements_the_connection_is_given_up(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        session = await session_with(DyingServer(at_once=True))
        wait_for_both()
        await until(lambda: session.has_ended)

    runner.run(scenario())
