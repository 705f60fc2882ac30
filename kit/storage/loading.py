"""Model instances and JSON from database rows, without Django's checks of constructor arguments.

`Model.__init__` takes most of the time of a long list: it matches arguments with fields and sends signals. Rows of a
database always match. No model here has receivers of `pre_init` or `post_init`.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any, Self, TypeVar

import msgspec
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, QuerySet
from django.db.models.base import ModelState
from django.db.models.fields.json import KeyTransform

M = TypeVar("M", bound=models.Model)


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


class QuicklyReadJSONField(models.JSONField):
    """A JSON column whose values msgspec decodes to what json would, in a quarter of the time."""

    def deconstruct(self) -> tuple[str, str, Sequence[object], dict[str, object]]:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs  # migrations need not know

    def from_db_value(self, value: str | None, expression: Expression, connection: BaseDatabaseWrapper) -> object:
        if isinstance(value, str) and not isinstance(expression, KeyTransform):
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
