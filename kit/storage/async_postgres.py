"""PostgreSQL on the event loop, for the few statements of a check: they wake no thread."""

import asyncio
from collections.abc import Sequence
from functools import cache
from struct import Struct
from typing import cast

import psycopg
from django.db import OperationalError, connection
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult
from psycopg.rows import TupleRow

SECONDS_TO_WAIT = 20
# PostgreSQL went away, or could not do its work: no room for a file, a disk that fails.
NOT_DONE = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)
OF_DJANGO = {"pool", "cursor_factory", "context", "prepare_threshold"}  # settings that mean nothing here

Row = list[bytes | None]  # values as PostgreSQL spells them
Parameter = str | list[str] | list[bytes]  # a list of texts is one of UUIDs in hex

# An array's head in PostgreSQL's binary format: one dimension, no nulls, the type of its elements, how many, counted
# from 1. Each element follows its size.
ARRAY = Struct("!iiiii")
SIZE = Struct("!i")
UUID_OID, BYTEA_OID = 2950, 17
SIZE_OF_UUID = "00000010"


class Sessions:
    """Connections of this process to PostgreSQL, one for each call at a time, kept for the next.

    `set_up` is a statement that each begins with.
    """

    def __init__(self, set_up: str = "") -> None:
        self.set_up = set_up
        self.idle: list[Session] = []

    async def run(self, statement: str, parameters: Sequence[Parameter] = ()) -> list[Row]:
        """The rows that a statement returns, in a transaction of its own. Raises Django's OperationalError."""
        used: Session | None = None
        try:
            used = await self.session()
            rows = await used.run(statement, parameters)
        except (*NOT_DONE, TimeoutError) as error:
            close(used)
            raise OperationalError(str(error) or type(error).__name__) from error
        except BaseException:
            close(used)  # whatever is under way on it is nobody's answer
            raise
        self.idle.append(used)
        return rows

    async def session(self) -> "Session":
        while self.idle:
            used = self.idle.pop()
            if not used.has_ended:
                return used
        async with asyncio.timeout(SECONDS_TO_WAIT):
            return await self.connect()

    async def connect(self) -> "Session":
        given = connection.get_connection_params()
        parameters = {name: value for name, value in given.items() if name not in OF_DJANGO}
        made = Session(await psycopg.AsyncConnection.connect(**parameters, autocommit=True))
        try:
            if self.set_up:
                await made.run(self.set_up)
        except BaseException:
            made.close()
            raise
        return made


def close(broken: "Session | None") -> None:
    if broken is not None:
        broken.close()


class Session:
    """A connection, used by libpq's own calls: psycopg's cursors take the event loop five times as long.

    It is watched between statements too, so that a connection which a restarted server has closed is known before a
    statement is sent on it: a statement that failed may have been committed, and cannot be sent again.
    """

    def __init__(self, opened: psycopg.AsyncConnection[TupleRow]) -> None:
        self.opened, self.libpq = opened, opened.pgconn
        self.socket = self.libpq.socket
        self.loop = asyncio.get_running_loop()
        self.prepared: dict[str, bytes] = {}
        self.waiting: asyncio.Future[PGresult] | None = None
        self.got: PGresult | None = None
        self.has_ended = False
        self.loop.add_reader(self.socket, self.read)

    async def run(self, statement: str, parameters: Sequence[Parameter] = ()) -> list[Row]:
        """The rows that a statement returns; the statement is prepared at its first use."""
        name = self.prepared.get(statement)
        if name is None:
            name = b"statement_%d" % len(self.prepared)
            self.libpq.send_prepare(name, numbered(statement))
            await self.result()
            self.prepared[statement] = name
        self.libpq.send_query_prepared(
            name, [encoded(one) for one in parameters], [isinstance(one, list) for one in parameters]
        )
        result = await self.result()
        value, columns = result.get_value, range(result.nfields)
        return [[value(row, column) for column in columns] for row in range(result.ntuples)]

    async def result(self) -> PGresult:
        """The result of what was sent. Raises psycopg's errors and TimeoutError."""
        self.waiting = self.loop.create_future()
        self.write()
        timer = self.loop.call_later(SECONDS_TO_WAIT, self.fail, TimeoutError("no reply in time"))
        try:
            result = await self.waiting
        finally:
            timer.cancel()
        if result.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK):
            raise psycopg.errors.error_from_result(result)
        return result

    def write(self) -> None:
        """Called again when there is room, if a statement is too long to be sent at once."""
        if self.libpq.flush():
            self.loop.add_writer(self.socket, self.write)
        else:
            self.loop.remove_writer(self.socket)

    def read(self) -> None:
        """Reads again if there is no result yet: uvloop reports a reset connection only once.

        The first read gets what the server had sent before, the second finds that it is gone.
        """
        try:
            self.libpq.consume_input()
            if not self.settle():
                self.libpq.consume_input()
                self.settle()
        except psycopg.OperationalError as error:
            self.fail(error)
            self.close()

    def settle(self) -> bool:
        """Whether the statement's result is complete; it is handed over then."""
        while not self.libpq.is_busy():
            result = self.libpq.get_result()
            if result is None:  # the server is ready for the next
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


def encoded(parameter: Parameter) -> bytes:
    """A text as it is, a list in PostgreSQL's binary format, which costs it a third of reading texts."""
    if isinstance(parameter, str):
        return parameter.encode()
    if parameter and isinstance(parameter[0], bytes):
        elements, oid = b"".join([SIZE.pack(len(one)) + one for one in parameter]), BYTEA_OID
    else:
        elements = bytes.fromhex("".join([SIZE_OF_UUID + one for one in cast("list[str]", parameter)]))
        oid = UUID_OID
    return ARRAY.pack(1, 0, oid, len(parameter), 1) + elements


@cache
def numbered(statement: str) -> bytes:
    """The statement with $1, $2, … in the place of each %s."""
    first, *rest = statement.split("%s")
    return "".join([first, *(f"${number}{part}" for number, part in enumerate(rest, 1))]).encode()
