"""Amounts of money: exact decimals with up to six places, stored as whole millionths, never as floats."""

from decimal import Decimal
from typing import TYPE_CHECKING, SupportsInt

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from kit.values.decimals import from_millionths, to_millionths


class AmountField(models.BigIntegerField):
    """A Decimal in Python, stored as a whole number of millionths, because SQLite's decimals are floats."""

    if TYPE_CHECKING:
        _pyi_private_set_type: Decimal | int  # type: ignore[assignment]
        _pyi_private_get_type: Decimal  # type: ignore[assignment]

    def get_prep_value(self, value: Decimal | int | None) -> int | None:
        return to_millionths(value) if isinstance(value, Decimal) else super().get_prep_value(value)

    def from_db_value(
        self, value: str | SupportsInt | None, expression: object, connection: BaseDatabaseWrapper
    ) -> Decimal | None:
        return None if value is None else from_millionths(value)

    def to_python(self, value: object) -> Decimal | None:
        return value if value is None or isinstance(value, Decimal) else Decimal(str(value))


class TotalField(AmountField):
    """A sum of amounts: unlimited on PostgreSQL, 64 bits on SQLite, which rejects larger sums.

    (SQLite would silently continue with a float.)
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "numeric(40)" if connection.vendor == "postgresql" else super().db_type(connection)

    def db_check(self, connection: BaseDatabaseWrapper) -> str | None:
        return f"typeof(\"{self.column}\") = 'integer'" if connection.vendor == "sqlite" else None
