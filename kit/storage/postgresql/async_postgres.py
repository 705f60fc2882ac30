"""PostgreSQL on the event loop, for the few statements of an access check, without threads."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from select import POLLIN, poll
from struct import Struct
from typing import cast

import psycopg
from django.conf import settings
from django.db import OperationalError
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult
from psycopg.rows import TupleRow

from kit.storage.postgresql.poolers import connection_string, keeps_no_session_state
from kit.storage.postgresql.timelines import READ_TIMELINE, Promoted, Timeline

SECONDS_TO_WAIT = 20
# PostgreSQL has to end a statement before this process gives up on it: otherwise it may still commit, and a check that
# was answered by 503 would be recorded and charged. Through a pooler no setting stays with a session.
LIMIT = "SELECT set_config('statement_timeout', %s, false)"
# PostgreSQL disconnected or could not do its work, for example because a disk is full or failing.
NOT_DONE = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)

Row = list[bytes | None]  # values in PostgreSQL's text format
Parameter = str | list[str] | list[bytes]  # a list of strings holds UUIDs in hex

# Header of an array in PostgreSQL's binary format: one dimension, no nulls, element type, number of elements, first
# index. Each element follows its size.
ARRAY = Struct("!iiiii")
SIZE = Struct("!i")
UUID_OID, BYTEA_OID = 2950, 17
SIZE_OF_UUID = "00000010"


class Sessions:
    """A pool of this process's PostgreSQL connections, each used by one call at a time.

    STATEMENT_SECONDS limits every statement. `set_up` is a statement that every new connection runs first.
    """

    def __init__(self, set_up: str = "") -> None:
        self.set_up = set_up
        self.idle: list[Session] = []
        self.timeline = Timeline()

    async def run(self, statement: str, parameters: Sequence[Parameter] = ()) -> list[Row]:
        """Run a statement in a transaction of its own and return its rows. Raises Django's OperationalError."""
        async with self.lease() as session:
            return await session.run(statement, parameters)

    @asynccontextmanager
    async def lease(self) -> "AsyncIterator[Session]":
        """Yield a connection for one statement. Raises Django's OperationalError, also for that statement.

        Raises Promoted if another server was promoted after the last connection was made: the statement may come from
        what the former one had. Behind a pooler, promotions are not seen.
        """
        session: Session | None = None
        timeline = self.timeline.number
        try:
            while self.idle and session is None:
                session = self.idle.pop()
                if session.has_ended:
                    session = None
            if session is None:
                async with asyncio.timeout(SECONDS_TO_WAIT):
                    session = await self.connect()
            if timeline not in (0, session.timeline):
                if session.timeline == self.timeline.number:  # the next statement may use it
                    self.idle.append(session)
                    session = None
                raise Promoted("Another server was promoted. Try again.")
            yield session
        except (*NOT_DONE, TimeoutError) as error:
            close(session)
            raise OperationalError(str(error) or type(error).__name__) from error
        except BaseException:
            close(session)  # drop the pending reply
            raise
        self.idle.append(session)

    async def connect(self) -> "Session":
        session = Session(await psycopg.AsyncConnection.connect(connection_string(), autocommit=True))
        try:
            if session.prepares:
                await session.run(LIMIT, [f"{settings.STATEMENT_SECONDS}s"])
                session.timeline = self.timeline.note(await session.read_timeline())
                if self.set_up:
                    await session.run(self.set_up)
        except BaseException:
            session.close()
            raise
        return session


def close(broken: "Session | None") -> None:
    if broken is not None:
        broken.close()


class Session:
    """A connection driven by libpq calls; psycopg's cursors take five times as much of the event loop.

    It is watched between statements, so that a connection closed by a server restart is noticed before the next
    statement. A statement that failed midway may have been committed, so it cannot be retried.
    """

    def __init__(self, opened: psycopg.AsyncConnection[TupleRow]) -> None:
        self.opened, self.libpq = opened, opened.pgconn
        self.socket = self.libpq.socket
        self.loop = asyncio.get_running_loop()
        self.prepared: dict[str, bytes] = {}
        self.prepares = not keeps_no_session_state()
        self.timeline = 0  # unknown
        self.waiting: asyncio.Future[PGresult] | None = None
        self.got: PGresult | None = None
        self.has_ended = False
        self.input = poll()
        self.input.register(self.socket, POLLIN)
        self.loop.add_reader(self.socket, self.read)

    async def run(self, statement: str, parameters: Sequence[Parameter] = ()) -> list[Row]:
        """Return the rows of a statement, which is prepared on first use if the session is kept."""
        values = [encode_parameter(parameter) for parameter in parameters]
        formats = [isinstance(parameter, list) for parameter in parameters]
        if self.prepares:
            name = self.prepared.get(statement) or await self.prepare(statement)
            self.libpq.send_query_prepared(name, values, formats)
        else:
            self.libpq.send_query_params(number_parameters(statement), values, None, formats)
        result = await self.result()
        value, columns = result.get_value, range(result.nfields)
        return [[value(row, column) for column in columns] for row in range(result.ntuples)]

    async def read_timeline(self) -> int:
        try:
            [[number]] = await self.run(READ_TIMELINE)
        except psycopg.NotSupportedError:
            return 0
        return int(number or 0)

    async def prepare(self, statement: str) -> bytes:
        """Prepare a statement and return its name."""
        name = b"statement_%d" % len(self.prepared)
        self.libpq.send_prepare(name, number_parameters(statement))
        await self.result()
        self.prepared[statement] = name
        return name

    async def result(self) -> PGresult:
        """Wait for the result of what was sent. Raises psycopg's errors, or TimeoutError after SECONDS_TO_WAIT."""
        self.waiting = self.loop.create_future()
        self.write()
        if self.input.poll(0):  # a reset that came with the last reply; libpq conceals that writing fails
            self.read()
        timer = self.loop.call_later(SECONDS_TO_WAIT, self.fail, TimeoutError("no reply in time"))
        try:
            result = await self.waiting
        finally:
            timer.cancel()
        if result.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK):
            error = psycopg.errors.error_from_result(result)
            # libpq's own errors have no SQLSTATE, and the class that psycopg gives them says nothing.
            raise error if error.sqlstate else psycopg.OperationalError(str(error))
        return result

    def write(self) -> None:
        """Flush the output; runs again when the socket is writable if a statement does not fit."""
        if self.libpq.flush():
            self.loop.add_writer(self.socket, self.write)
        else:
            self.loop.remove_writer(self.socket)

    def read(self) -> None:
        """Read the input until there is a result or nothing left: uvloop reports a reset connection only once.

        A reset is noticed only by the read after the server's last message.
        """
        try:
            self.libpq.consume_input()
            while not self.settle() and self.input.poll(0):
                self.libpq.consume_input()
        except psycopg.OperationalError as error:
            self.fail(error)
            self.close()

    def settle(self) -> bool:
        """Deliver the result if it is complete, and return whether it was."""
        while not self.libpq.is_busy():
            result = self.libpq.get_result()
            if result is None:  # the server is ready for the next statement
                if self.waiting is None or self.waiting.done() or self.got is None:
                    return False
                self.waiting.set_result(self.got)
                return True
            self.got = result
        return False

    def fail(self, error: Exception) -> None:
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_exception(error)

    def close(self) -> None:
        if not self.has_ended:
            self.has_ended = True
            self.loop.remove_reader(self.socket)
            self.loop.remove_writer(self.socket)
            self.libpq.finish()


def encode_parameter(parameter: Parameter) -> bytes:
    """Encode a parameter: strings as text, lists in PostgreSQL's binary format, three times cheaper to parse."""
    if isinstance(parameter, str):
        return parameter.encode()
    if parameter and isinstance(parameter[0], bytes):
        elements, oid = b"".join([SIZE.pack(len(one)) + one for one in parameter]), BYTEA_OID
    else:
        elements = bytes.fromhex("".join([SIZE_OF_UUID + one for one in cast("list[str]", parameter)]))
        oid = UUID_OID
    return ARRAY.pack(1, 0, oid, len(parameter), 1) + elements


@cache
def number_parameters(statement: str) -> bytes:
    """Replace each %s of the statement with $1, $2, …"""
    first, *rest = statement.split("%s")
    return "".join([first, *(f"${number}{part}" for number, part in enumerate(rest, 1))]).encode()
