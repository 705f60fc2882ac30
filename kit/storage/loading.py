"""Rows at less cost than the ORM's: prepared statements, and model instances and JSON from rows.

Queries that nearly every request runs are prepared, because planning them costs more than running them. Rows are
loaded without `Model.__init__`, which takes most of the time of a long list: it matches arguments with fields and
sends signals. Rows of a database always match. No model here has receivers of `pre_init` or `post_init`.
"""

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any, Generic, Self, TypeAlias, TypeVar
from uuid import UUID

import msgspec
import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, Field, ForeignKey, Model, QuerySet
from django.db.models.base import ModelState
from django.db.models.fields.json import KeyTransform

from kit.values.numbers import NumbersOfTheApi, decode_carefully

M = TypeVar("M", bound=Model)
# A value of an SQL statement, as database drivers accept it.
Parameter: TypeAlias = int | Decimal | str | bytes | date | UUID | list[Any] | None
# For JSON as PostgreSQL writes it, in a tenth of the time of `search_long_digits`.
MAY_BE_EXPANDED = re.compile(r": -?\d{19}").search

# --- Prepared statements ---------------------------------------------------------------------------------------------


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


# --- Instances and JSON ----------------------------------------------------------------------------------------------


class QuicklyLoaded:
    """Base of the models of long lists, before `models.Model`."""

    @classmethod
    def from_db(
        cls,
        db: str | None,
        field_names: Collection[str],
        values: Collection[object],
        *,
        fetch_mode: object = None,  # of a later Django, whose types are checked
    ) -> Self:
        row = cls.__new__(cls)
        state = ModelState()
        state.adding, state.db = False, db
        # Fields that were not selected are absent, and loaded when they are read.
        row.__dict__ = {"_state": state, **dict(zip(field_names, values, strict=True))}
        return row


class UnmigratedJSONField(models.JSONField):
    """A JSON column that is read in its own way, of which migrations need not know."""

    def deconstruct(self) -> tuple[str, str, Sequence[object], dict[str, object]]:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs


class ApiJSONField(UnmigratedJSONField):
    """A JSON column whose numbers are read as they were sent to the API."""

    def from_db_value(self, value: str | None, expression: Expression, connection: BaseDatabaseWrapper) -> object:
        if isinstance(value, str) and not isinstance(expression, KeyTransform):
            return NumbersOfTheApi().decode(value)
        return super().from_db_value(value, expression, connection)


class QuicklyReadJSONField(UnmigratedJSONField):
    """A JSON column whose values msgspec decodes to what json would, in a quarter of the time.

    Members of objects are numbers as in ApiJSONField.
    """

    def from_db_value(self, value: str | None, expression: Expression, connection: BaseDatabaseWrapper) -> object:
        if isinstance(value, str) and not isinstance(expression, KeyTransform):
            if MAY_BE_EXPANDED(value):
                return decode_carefully(value)
            with suppress(msgspec.DecodeError):  # what only json accepts, such as half of a surrogate pair
                return msgspec.json.decode(value)
        return super().from_db_value(value, expression, connection)


def join(rows: QuerySet[M], relation: str, *names: str) -> QuerySet[M]:
    """Read a related row with each row, with only its key and these fields."""
    related: Any = rows.model._meta.get_field(relation).related_model
    wanted = {related._meta.pk.name, *names}
    return rows.select_related(relation).defer(
        *(f"{relation}__{one.name}" for one in related._meta.concrete_fields if one.name not in wanted)
    )
