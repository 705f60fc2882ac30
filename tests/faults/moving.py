"""Prototype: move an account to another PostgreSQL server while its checks go on (decision record 11).

Each server has a service of its own, with the same secrets and the same Valkey. A proxy in front of both knows where
each account is, and holds its requests during the pause. A request that gets through is refused, never lost.

1. `copy_ahead` copies the account's rows, chunk by chunk, while the source still serves it.
2. The account is suspended at the source. `wait_for_transactions` waits for those that began before. From then on no
   decision is recorded, and other writes wait for the lock on the account's row.
3. `copy_rest` copies the chunks that were written since, compares them again, and counts all rows. The same commit
   makes the account valid at the target, which gets its requests from now on.
4. `forget` deletes the account at the source. Writes that have waited find that it does not exist.

A chunk is the part of a table whose ids are of the same four seconds, or the whole table. Chunks are equal if the
number of their rows and the sum of the rows' hashes are.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from tests.account_tables import FOUND_THROUGH, TABLES, rows_of_account

NUMBERS = 2**40  # for each server
ALIGNED_SECONDS = 130  # until both servers have counted visits up to the same minute
WAIT_SECONDS = 20
# Rows are compared as text, which shows times in the session's zone. Without jit, statements take far less time.
OPTIONS = f"-c timezone=UTC -c jit=off -c lock_timeout={WAIT_SECONDS}s"
CHUNK = 10  # leading characters of a UUID: four seconds
LEAST = str(UUID(int=0))
SENT_FROM = sql.Identifier("accounts_webhookdelivery")  # the target would send them, too

Connection = psycopg.Connection[tuple[object, ...]]
SHAPE = """
SELECT array_agg(attname::text ORDER BY attname), bool_or(attname = 'id' AND atttypid = 'uuid'::regtype)
FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"""
HASHES = """
SELECT {chunk}, count(*), sum(hashtextextended(to_jsonb(one)::text, 0)) FROM {table} one
WHERE {some} GROUP BY 1"""
OLDEST_RUNNING = "SELECT pg_snapshot_xmin(pg_current_snapshot())::xid::text"
WRITTEN = "SELECT {number}, {chunk} FROM {table} WHERE {rows} AND age(xmin) <= age({since}::xid) GROUP BY 2"
COUNT = "SELECT {number}, count(*) FROM {table} WHERE {rows}"
COUNTED_UNTIL = "SELECT until FROM licensing_visitscounted FOR UPDATE"
VISITS = """
SELECT EXISTS (SELECT FROM analytics_accessevent
  WHERE account_id = %s AND created >= %s AND created < %s AND facts ? 'identifiedBy')"""
SUSPENDED = "SELECT suspended_at FROM accounts_account WHERE id = %s"
SUSPEND = "UPDATE accounts_account SET epoch = epoch + 1, suspended_at = %s WHERE id = %s"
LOCK = "SELECT FROM accounts_account WHERE id = %s FOR UPDATE"
UNFINISHED = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> ALL (%(own)s::int[])
  AND xact_start < %(since)s AND NOT pg_blocking_pids(pid) && %(own)s::int[]
  AND NOT (state = 'idle in transaction' AND query = 'SELECT 1')"""  # of the process that runs the shared jobs


class MoveError(Exception):
    """Why the account was not moved. It stays valid at the source."""


def number_from(url: str, server: int) -> None:
    """Let the server number its rows from a range of its own, so that two servers never use the same number."""
    with psycopg.connect(url) as connection:
        wide = "SELECT seqrelid::regclass::text FROM pg_sequence WHERE seqtypid = 'bigint'::regtype"
        for (name,) in connection.execute(wide).fetchall():
            restart = sql.SQL("ALTER SEQUENCE {} RESTART WITH {}")
            connection.execute(restart.format(sql.Identifier(name), sql.Literal(server * NUMBERS + 1)))


@dataclass(frozen=True, eq=False)
class Table:
    """A table with rows of the account, which `rows` selects."""

    name: sql.Identifier
    columns: sql.Composed
    has_uuids: bool
    rows: sql.Composed

    def format(self, statement: str, **parts: sql.Composable) -> sql.Composed:
        chunk = sql.SQL(f"left(id::text, {CHUNK})" if self.has_uuids else "''")  # type: ignore[arg-type]
        own = {"table": self.name, "columns": self.columns, "chunk": chunk, "rows": self.rows}
        return sql.SQL(statement).format(**own, **parts)  # type: ignore[arg-type]

    def some(self, chunks: list[str] | None) -> sql.Composed:
        """Return the condition for the account's rows in these chunks, or in all."""
        if chunks is None:
            return self.rows
        condition = "{rows} AND {chunk} = ANY ({chunks})"
        if self.has_uuids:  # so that the primary key is used
            condition += " AND id BETWEEN {first} AND {last}"
        first, last = min(chunks) + LEAST[CHUNK:], max(chunks) + LEAST[CHUNK:].replace("0", "f")
        return self.format(condition, chunks=sql.Literal(chunks), first=sql.Literal(first), last=sql.Literal(last))

    def chunks(self, connection: Connection, only: list[str] | None) -> dict[str, tuple[int, Decimal]]:
        """Return the number of rows of these chunks, or of all, and the sum of their hashes."""
        rows = connection.execute(self.format(HASHES, some=self.some(only)))
        return {chunk: (count, total) for chunk, count, total in rows}  # type: ignore[misc]


class Move:
    """The move of one account. Use `opened`."""

    def __init__(self, account: UUID, connect: Callable[[str], Connection], source: str, target: str) -> None:
        self.account, self.urls = account, (source, target)
        self.source, self.target = connect(source), connect(target)
        self.locks = connect(source)  # holds the account's row until it is deleted
        self.visits = [connect(source), connect(target)]
        self.since: dict[Connection, Any] = {}  # the oldest transaction that `copy_ahead` may not have seen
        self.copied = 0  # rows, in all
        self.source.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ  # all tables of the same moment
        for connection in (self.target, self.locks):
            # Neither triggers nor foreign keys apply: rows are copied and deleted in any order.
            connection.execute("SET session_replication_role = replica")
        names = {str(name) for name, _ in self.source.execute(TABLES).fetchall()} - set(FOUND_THROUGH)
        # Those found through another table come first: a row is deleted while the other one is still there.
        self.tables = [table for name in (*FOUND_THROUGH, *sorted(names)) if (table := self.describe(name))]

    @classmethod
    @contextmanager
    def opened(cls, account: UUID, source: str, target: str) -> Iterator["Move"]:
        with ExitStack() as stack:

            def connect(url: str) -> Connection:
                return stack.enter_context(psycopg.connect(url, autocommit=True, options=OPTIONS))

            yield cls(account, connect, source, target)

    def describe(self, name: str) -> Table | None:
        """Return the table, or None if it has no rows of accounts."""
        if (rows := rows_of_account(name)) is None:
            return None
        [(columns, has_uuids)] = self.source.execute(SHAPE, [name]).fetchall()
        return Table(
            sql.Identifier(name),
            sql.SQL(", ").join(map(sql.Identifier, columns)),  # type: ignore[call-overload]
            bool(has_uuids),
            sql.SQL(rows).format(account=sql.Literal(self.account)),  # type: ignore[arg-type]
        )

    def run(self, hold: Callable[[], None], release: Callable[[str], None]) -> float:
        """Move the account. Returns the pause in seconds.

        Calls `hold` when its requests are to wait, and `release` with the URL of the server that is to answer them.
        """
        self.copy_ahead()
        self.copy_ahead()  # what changed during the first copy, so that little is left for the pause
        with self.aligned_visits():
            suspended_at = self.suspended_at()
            begun = time.monotonic()
            hold()
            try:
                self.suspend(self.source, datetime.now(UTC))
                self.wait_for_transactions()
                self.locks.execute("BEGIN")
                self.locks.execute(LOCK, [self.account])
                with self.source.transaction(), self.target.transaction():
                    self.copy_rest()
                    self.suspend(self.target, suspended_at)
            except BaseException:
                self.locks.rollback()
                self.suspend(self.source, suspended_at)
                release(self.urls[0])
                raise
        release(self.urls[1])
        pause = time.monotonic() - begun
        self.forget()
        return pause

    def copy_ahead(self) -> None:
        """Copy what the target's jobs may see already. They may even change it: the last copy replaces that."""
        with self.source.transaction(), self.target.transaction():
            since = {one: one.execute(OLDEST_RUNNING).fetchone() for one in (self.source, self.target)}
            for table in self.tables:
                if table.name != SENT_FROM:
                    self.replace(table, self.differing(table, None))
        self.since = since

    def copy_rest(self) -> None:
        """Copy what has changed on either side since `copy_ahead`, and compare it again. Raises MoveError."""
        for table, chunks in self.written().items():
            self.replace(table, self.differing(table, chunks))
        for table in self.uneven():  # rows were deleted
            self.replace(table, self.differing(table, None))
        differing = [table.name for table, chunks in self.written().items() if self.differing(table, chunks)]
        differing += [table.name for table in self.uneven()]
        if differing:
            raise MoveError(f"These tables differ: {differing}.")

    def written(self) -> dict[Table, list[str]]:
        """Return the chunks with rows that were written since `copy_ahead` began."""
        found: dict[Table, list[str]] = defaultdict(list)
        for connection, since in self.since.items():
            for number, chunk in connection.execute(self.of_each(WRITTEN, since=sql.Literal(since[0]))):
                found[self.tables[number]].append(chunk)
        return found

    def uneven(self) -> list[Table]:
        """Return the tables that have another number of rows at the target."""
        one, other = (dict(connection.execute(self.of_each(COUNT)).fetchall()) for connection in self.since)
        return [table for number, table in enumerate(self.tables) if one[number] != other[number]]

    def of_each(self, statement: str, **parts: sql.Composable) -> sql.Composed:
        """Return the statement for all tables in one, each with its number."""
        of_tables = (one.format(statement, number=sql.Literal(at), **parts) for at, one in enumerate(self.tables))
        return sql.SQL(" UNION ALL ").join(of_tables)

    def differing(self, table: Table, only: list[str] | None) -> list[str]:
        """Return those of the chunks, or of all, that differ between source and target."""
        wanted, found = table.chunks(self.source, only), table.chunks(self.target, only)
        return [one for one in {**wanted, **found} if wanted.get(one) != found.get(one)]

    def replace(self, table: Table, chunks: list[str]) -> None:
        """Copy these chunks of the source in place of the target's."""
        if not chunks:
            return
        some = table.some(chunks)
        self.target.execute(table.format("DELETE FROM {table} WHERE {some}", some=some))
        out = table.format("COPY (SELECT {columns} FROM {table} WHERE {some}) TO STDOUT (FORMAT binary)", some=some)
        into = table.format("COPY {table} ({columns}) FROM STDIN (FORMAT binary)")
        writer = self.target.cursor()
        with self.source.cursor().copy(out) as read, writer.copy(into) as write:
            for data in read:
                write.write(data)
        self.copied += writer.rowcount

    @contextmanager
    def aligned_visits(self) -> Iterator[None]:
        """Keep both services from counting visits, once they have counted the same visits of the account.

        The others would be counted twice at the target, or not at all.
        """
        deadline = time.monotonic() + ALIGNED_SECONDS
        while time.monotonic() < deadline:
            with ExitStack() as stack:
                for connection in self.visits:
                    stack.enter_context(connection.transaction())
                until = [row for one in self.visits for (row,) in one.execute(COUNTED_UNTIL).fetchall()]
                if len(until) == 2 and self.source.execute(VISITS, [self.account, *sorted(until)]).fetchone() == (
                    False,
                ):
                    yield
                    return
            time.sleep(0.1)
        raise MoveError("The servers have not counted visits up to the same minute.")

    def suspended_at(self) -> object:
        [(suspended_at,)] = self.source.execute(SUSPENDED, [self.account]).fetchall()
        return suspended_at

    def suspend(self, connection: Connection, suspended_at: object) -> None:
        """Suspend the account from this time on; None lifts the suspension.

        An epoch without a row of what changed makes every process read the account again.
        """
        connection.execute(SUSPEND, [suspended_at, self.account])

    def wait_for_transactions(self) -> None:
        """Wait for the source's transactions that may not see the account as suspended, except those that wait for us.

        A statement that records decisions locks nothing of the account, so the lock on its row does not wait for them.
        """
        [(since,)] = self.source.execute("SELECT clock_timestamp()").fetchall()
        own = [connection.info.backend_pid for connection in (self.source, self.locks, self.visits[0])]
        deadline = time.monotonic() + WAIT_SECONDS
        while self.locks.execute(UNFINISHED, {"own": own, "since": since}).fetchall() != [(0,)]:
            if time.monotonic() > deadline:
                raise MoveError(f"A transaction takes longer than {WAIT_SECONDS} s. Try again later.")
            time.sleep(0.001)

    def forget(self) -> None:
        """Delete the account's rows at the source, and release its lock."""
        for table in self.tables:
            self.locks.execute(table.format("DELETE FROM {table} WHERE {rows}"))
        self.locks.commit()
