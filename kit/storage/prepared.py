"""Prepared statements for queries that nearly every request runs, where planning costs more than execution."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import Field, ForeignKey, Model


def prepared_cursor() -> Any:
    """Return a cursor that prepares each statement on first use, unlike Django's own.

    Parameters are bound by the server, so the statement may have to declare their types. Returns an ordinary cursor on
    SQLite, because Python caches prepared statements there, and behind a pooler that shares out sessions by
    transaction, where a prepared statement is lost with its session.
    """
    own: Any = connections[DEFAULT_DB_ALIAS]  # Django's `connection` proxy looks it up for every attribute
    if own.vendor != "postgresql" or settings.DATABASE_POOLING == "transaction":
        return own.cursor()
    own.ensure_connection()
    own.connection.prepare_threshold = 0
    return own.make_cursor(psycopg.Cursor(own.connection))


M = TypeVar("M", bound=Model)
# A value of an SQL statement, as database drivers accept it.
Parameter: TypeAlias = int | Decimal | str | bytes | date | UUID | list[Any] | None


def prepare(model: type[Model], column: str, value: object) -> Parameter:
    """Convert a value to its stored form, such as an id to its 16 bytes."""
    field = model._meta.get_field(column.removesuffix("_id"))
    if isinstance(field, ForeignKey):
        field = field.target_field
    if not isinstance(field, Field):
        raise TypeError(f"{model.__name__} has no column {column}.")
    return field.get_db_prep_value(value, connection)


class Columns(Generic[M]):
    """Model columns for handwritten SQL, with values converted as the ORM would.

    They are those of the named fields, by default of all; `table` is the table's alias in the statement. The ORM takes
    ten times as long to build a statement as PostgreSQL to run it.
    """

    def __init__(self, model: type[M], table: str, *names: str) -> None:
        self.model = model
        fields: list[Any] = [field for field in model._meta.concrete_fields if field.name in names or not names]
        self.fields = fields
        self.names = [field.attname for field in fields]
        self.sql = ", ".join(f"{table}.{field.column}" for field in fields)

    @cached_property
    def converters(self) -> list[tuple[int, Any, Any]]:
        """Return (column index, converter, column) for every column whose values need converting."""
        found = []
        for place, field in enumerate(self.fields):
            column = field.get_col(field.model._meta.db_table)
            for convert in (*connection.ops.get_db_converters(column), *column.get_db_converters(connection)):
                found.append((place, convert, column))
        return found

    def instance(self, row: Sequence[Any]) -> M:
        """Return a model instance with only these columns loaded."""
        values = list(row)
        for place, convert, column in self.converters:
            values[place] = convert(values[place], column, connection)
        return self.model.from_db(connection.alias, self.names, values)


def key_share() -> str:
    """Return the end of a SELECT that keeps its rows from being deleted until the transaction ends.

    On PostgreSQL it conflicts with the FOR UPDATE of a soft deletion, and neither with itself nor with updates of the
    row.
    """
    if connection.features.has_select_for_no_key_update:
        return " FOR KEY SHARE"
    return ""
