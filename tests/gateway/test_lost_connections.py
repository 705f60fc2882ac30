"""A connection reset by PostgreSQL is noticed at once, even with unread data, so no check waits for a reply.

The server speaks PostgreSQL's protocol up to the first statement; the event loop is the service's.
"""

import asyncio
import socket
import struct
from collections.abc import Iterator
from threading import Event, Thread
from typing import Any

import psycopg
import pytest
import uvloop

from kit.storage.postgresql.async_postgres import Session
from tests.gateway.wire import until

READY = b"R" + struct.pack("!ii", 8, 0) + b"Z" + struct.pack("!i", 5) + b"I"
FIELDS = b"SNOTICE\0C00000\0Mgoing down\0\0"
NOTICE = b"N" + struct.pack("!i", 4 + len(FIELDS)) + FIELDS
RESET = struct.pack("ii", 1, 0)  # what SO_LINGER takes for a close that does not wait


READY_AGAIN = b"Z" + struct.pack("!i", 5) + b"I"
PREPARED = b"1" + struct.pack("!i", 4) + READY_AGAIN
BOUND = b"2" + struct.pack("!i", 4)
NO_COLUMNS = b"n" + struct.pack("!i", 4)
COMPLETE = b"C" + struct.pack("!i", 13) + b"SELECT 0\0" + READY_AGAIN
EMPTY_ROW = b"D" + struct.pack("!ih", 6, 0)
HALF_OF_A_ROW = b"T" + struct.pack("!ih", 6, 0) + b"D" + struct.pack("!i", 1_000_000) + bytes(20_000)


class DyingServer(Thread):
    """Accept one connection, reply to each message, and reset the connection with the last bytes.

    These are the last reply, or `unasked`. They are sent once `die` is called; `is_dying` is set before.
    """

    def __init__(self, *replies: bytes, unasked: bytes = b"") -> None:
        super().__init__(daemon=True)
        self.replies, self.unasked = replies, unasked
        self.is_dying, self.may_die = Event(), Event()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]

    def run(self) -> None:
        connection, _ = self.listening.accept()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        connection.recv(10_000)  # who connects, and where to
        connection.sendall(READY)
        *replies, last = self.replies or [b""]
        for reply in replies:
            connection.recv(10_000)
            connection.sendall(reply)
        if self.replies:
            connection.recv(10_000)
        self.is_dying.set()
        self.may_die.wait(60)
        connection.sendall(last + self.unasked)
        connection.close()

    def die(self) -> None:
        """Return once the last bytes and the reset have been sent, so that the loop sees them together."""
        self.may_die.set()
        self.join(60)


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner


async def session_with(server: DyingServer) -> Session:
    server.start()
    parameters: dict[str, Any] = {"host": "127.0.0.1", "port": server.port, "user": "any", "sslmode": "disable"}
    return Session(await psycopg.AsyncConnection.connect(**parameters, gssencmode="disable", autocommit=True))


@pytest.mark.parametrize(
    "replies",
    [[NOTICE], [PREPARED, NOTICE], [PREPARED, BOUND + HALF_OF_A_ROW]],
    ids=["preparing", "executing", "in the middle of a long row"],
)
def test_a_statement_fails_at_once(runner: asyncio.Runner, replies: list[bytes]) -> None:
    async def scenario() -> None:
        server = DyingServer(*replies)
        session = await session_with(server)
        statement = asyncio.create_task(session.run("SELECT 1"))
        await until(server.is_dying.is_set)
        server.die()
        with pytest.raises(psycopg.OperationalError):
            await asyncio.wait_for(statement, 10)

    runner.run(scenario())


def test_the_next_statement_fails_at_once_if_the_reset_came_with_a_reply(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        server = DyingServer(PREPARED, BOUND + NO_COLUMNS + COMPLETE)
        session = await session_with(server)
        first = asyncio.create_task(session.run("SELECT 1"))
        await until(server.is_dying.is_set)
        server.die()
        assert await asyncio.wait_for(first, 10) == []
        with pytest.raises(psycopg.OperationalError):
            await asyncio.wait_for(session.run("SELECT 1"), 10)

    runner.run(scenario())


def test_an_error_of_libpq_itself_is_operational(runner: asyncio.Runner) -> None:
    """It has no SQLSTATE, so psycopg raises only DatabaseError."""

    async def scenario() -> None:
        server = DyingServer(PREPARED, BOUND + EMPTY_ROW + COMPLETE, b"")
        server.may_die.set()
        session = await session_with(server)
        with pytest.raises(psycopg.OperationalError):
            await asyncio.wait_for(session.run("SELECT 1"), 10)

    runner.run(scenario())


def test_between_statements_the_connection_is_given_up(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        server = DyingServer(unasked=NOTICE)
        session = await session_with(server)
        server.die()
        await until(lambda: session.has_ended)

    runner.run(scenario())
