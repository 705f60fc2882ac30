"""Django's PostgreSQL backend with a time limit on statements and a pool that recovers fast from a restart."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC
from functools import partial
from select import POLLIN, poll
from types import TracebackType
from typing import TypeVar, cast

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.db.backends.ddl_references import Statement
from django.db.backends.postgresql import base, schema
from django.db.backends.utils import CursorWrapper
from django.db.utils import NotSupportedError as UnsupportedDatabase
from psycopg import Connection, Cursor, NotSupportedError
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from psycopg.types.datetime import TimestamptzLoader
from psycopg_pool import ConnectionPool

from kit import statement_timeout
from kit.storage.outage_causes import outages
from kit.storage.postgresql.timelines import READ_TIMELINE, thread_timeline

R = TypeVar("R")


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    """Django's schema editor, which sends the statements of a migration together.

    A changed table is locked until the migration's transaction ends. Between its operations Django computes models,
    which takes up to seconds. So statements are kept until the last operation, or until one needs the database.
    """

    def __enter__(self) -> "DatabaseSchemaEditor":
        super().__enter__()
        self.waiting: list[str] = []
        self.wrapped = ExitStack()
        if self.atomic_migration and not self.collect_sql:
            self.wrapped.enter_context(self.connection.execute_wrapper(self.send_first))
        return self

    def execute(self, sql: Statement | str, params: Sequence[object] | None = ()) -> None:
        if self.collect_sql or not self.atomic_migration:
            super().execute(sql, params)
            return
        statement = str(sql)
        if params is not None:
            statement = self.connection.ops.compose_sql(statement, params)
        self.waiting.append(statement)

    def send(self) -> None:
        """Execute the statements that wait."""
        while self.waiting:
            statements, self.waiting = self.waiting, []
            with self.connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement, None)

    def send_first(
        self, execute: Callable[..., R], sql: str, params: object, many: bool, context: Mapping[str, object]
    ) -> R:
        """Execute the statements that wait before another one, which may depend on them."""
        self.send()
        return execute(sql, params, many, context)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.wrapped.close()
        if exc_type is None and self.atomic_migration and not self.collect_sql:
            try:
                for sql in self.deferred_sql:
                    self.execute(sql, None)
                self.deferred_sql = []
                self.send()
            except BaseException as error:
                super().__exit__(type(error), error, error.__traceback__)
                raise
        super().__exit__(exc_type, exc_value, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    SchemaEditorClass = DatabaseSchemaEditor

    def __init__(self, settings_dict: dict[str, object], alias: str = DEFAULT_DB_ALIAS) -> None:
        super().__init__(settings_dict, alias)
        if settings.DATABASE_POOLING == "transaction":
            self.execute_wrappers.append(limit_statement)

    def check_database_version_supported(self) -> None:
        """Check also that the database keeps text as Unicode: one made with the locale C takes any bytes for text.

        Raises NotSupportedError. Django calls this for a process's first connection.
        """
        super().check_database_version_supported()
        encoding = self.connection.info.parameter_status("server_encoding")
        if encoding not in ("UTF8", None):  # None: a pooler does not tell
            self.close()  # or the next query would use it, unchecked
            raise UnsupportedDatabase(
                f"The database's encoding is {encoding}, and has to be UTF8. Create it with "
                "createdb --encoding UTF8 --template template0, and the same options as before."
            )

    def get_new_connection(self, conn_params: dict[str, object]) -> Connection:
        pool: ConnectionPool | None = self.pool
        if pool is not None:
            pool._check = partial(check_connection, pool)  # Django offers no option for it
        connection: Connection = super().get_new_connection(conn_params)
        attributes = vars(connection)
        if self.alias == DEFAULT_DB_ALIAS and "is_known" not in attributes:
            attributes["is_known"] = True
            outages.note_connection()
        if settings.DATABASE_POOLING == "transaction":
            return connection
        try:
            if self.alias == DEFAULT_DB_ALIAS and "timeline" not in attributes:
                attributes["timeline"] = thread_timeline.note(read_timeline(connection))
            milliseconds = statement_timeout.milliseconds()
            # Sent only on a change: most requests have the same limit, and a round trip each would be expensive.
            if attributes.get("statement_milliseconds", 0) != milliseconds:
                connection.execute(f"SET statement_timeout = {milliseconds}")
                attributes["statement_milliseconds"] = milliseconds
            if connection.autocommit and "compiles" not in attributes:
                connection.execute("SET jit = off")  # compiling a long statement takes seconds, and saves less
                attributes["compiles"] = False
        except Exception:
            if pool is not None:
                pool.putconn(connection)
            raise
        return connection

    def create_cursor(self, name: str | None = None) -> Cursor[TupleRow]:
        cursor: Cursor[TupleRow] = super().create_cursor(name)
        # Django's own loader takes 5 µs per timestamp, because it is written in Python.
        if self.timezone is UTC:
            cursor.adapters.register_loader("timestamptz", TimestamptzLoader)
        return cursor


def limit_statement(
    execute: Callable[..., R], sql: str, params: object, many: bool, context: Mapping[str, object]
) -> R:
    """Run a statement with its time limit, set for its transaction only.

    Outside a transaction, limit and statement are one message, which PostgreSQL runs as one transaction.
    """
    milliseconds = statement_timeout.milliseconds()
    wrapper, cursor = cast(DatabaseWrapper, context["connection"]), cast(CursorWrapper, context["cursor"])
    if not milliseconds or many:
        return execute(sql, params, many, context)
    if not wrapper.get_autocommit():
        if wrapper.connection.info.transaction_status == TransactionStatus.IDLE:  # this begins the transaction
            with wrapper.wrap_database_errors:
                cursor.cursor.execute(f"SET LOCAL statement_timeout = {milliseconds}")
        return execute(sql, params, many, context)
    result = execute(f"SET LOCAL statement_timeout = {milliseconds}; {sql}", params, many, context)
    cursor.cursor.nextset()
    return result


def read_timeline(connection: Connection) -> int:
    try:
        [[number]] = connection.execute(READ_TIMELINE).fetchall()
    except NotSupportedError:
        return 0
    return int(number)


def check_connection(pool: ConnectionPool, connection: Connection) -> None:
    """Check a pooled connection; if the server has closed it, drain the pool, because the others are closed too.

    A server that closes a connection sends a message first, so a connection without unread input needs no query.
    """
    input_poll = poll()
    input_poll.register(connection.fileno(), POLLIN)
    if not input_poll.poll(0):
        return
    try:
        ConnectionPool.check_connection(connection)
    except Exception:
        pool.drain()
        raise
