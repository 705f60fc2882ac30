"""Model instances and JSON from database rows, without Django's checks of constructor arguments.

`Model.__init__` takes most of the time of a long list: it matches arguments with fields and sends signals. Rows of a
database always match. No model here has receivers of `pre_init` or `post_init`.
"""

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any, Self, TypeVar

import msgspec
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, QuerySet
from django.db.models.base import ModelState
from django.db.models.fields.json import KeyTransform

from kit.values.numbers import NumbersOfTheApi, decode_carefully

M = TypeVar("M", bound=models.Model)
# For JSON as PostgreSQL writes it, in a tenth of the time of `search_long_digits`.
MAY_BE_EXPANDED = re.compile(r": -?\d{19}").search


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
