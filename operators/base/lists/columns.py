"""Columns of lists, which are fields of pages, too, for times, amounts and rights that need no method of their own."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from unfold.decorators import display

from analytics.wallets.units import in_units
from operators.base.times.shown import TO_MINUTE, shown_time

Column = Callable[[Any, Any], str]  # receives the ModelAdmin and the row
Right = Callable[..., bool]


def time_column(title: str, field: str, style: str = TO_MINUTE) -> Column:
    @display(description=title, ordering=field)
    def column(admin: object, row: object) -> str:
        return shown_time(getattr(row, field), style)

    return column


def amount_column(title: str, field: str, ordering: str | None = None, sign: int = 1) -> Column:
    """Return the column of an amount in the row's currency. Null is 0."""

    @display(description=title, ordering=ordering)
    def column(admin: object, row: object) -> str:
        return in_units(sign * (getattr(row, field) or 0), getattr(row, "currency"))  # noqa: B009

    return column


def right(permission: str) -> Right:
    """Return a method such as `has_paying_permission`, for whoever has the permission."""

    def has_right(admin: object, request: HttpRequest, object_id: str | None = None) -> bool:
        return request.user.has_perm(permission)

    return has_right
