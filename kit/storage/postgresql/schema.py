"""Django's schema editor, which sends the statements of a migration together.

A changed table is locked until the migration's transaction ends. Between its operations Django computes models, which
takes up to seconds. So statements are kept until the last operation, or until one needs the database.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TypeVar

from django.db.backends.ddl_references import Statement
from django.db.backends.postgresql import schema

R = TypeVar("R")


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
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
