"""Model instances from database rows, without Django's checks of constructor arguments.

`Model.__init__` takes most of the time of a long list: it matches arguments with fields and sends signals. Rows of a
database always match. No model here has receivers of `pre_init` or `post_init`.
"""

from collections.abc import Collection
from typing import Any, Self, TypeVar

from django.db import models
from django.db.models import QuerySet
from django.db.models.base import ModelState

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


def join(rows: QuerySet[M], relation: str, *names: str) -> QuerySet[M]:
    """Read a related row with each row, with only its key and these fields."""
    related: Any = rows.model._meta.get_field(relation).related_model
    wanted = {related._meta.pk.name, *names}
    return rows.select_related(relation).defer(
        *(f"{relation}__{one.name}" for one in related._meta.concrete_fields if one.name not in wanted)
    )
