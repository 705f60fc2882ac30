"""Columns of the lists of the admin."""

from collections.abc import Callable
from typing import Any

from unfold.decorators import display

from analytics.wallets.units import in_units
from operators.base.times import TO_MINUTE, shown_time

Column = Callable[[Any, Any], str]  # receives the ModelAdmin and the row


def column(title: str, render: Callable[[Any], str], ordering: str | None = None) -> Column:
    """Return the column that shows what `render` returns for the row."""

    @display(description=title, ordering=ordering)
    def show(admin: object, row: object) -> str:
        return render(row)

    return show


def external_id_of(row: object) -> str:
    return getattr(row, "external_id", None) or "–"


def amount_column(title: str, field: str, ordering: str | None = None, sign: int = 1) -> Column:
    """Return the column of an amount in the row's currency. Null is 0."""

    def render(row: object) -> str:
        return in_units(sign * (getattr(row, field) or 0), getattr(row, "currency"))  # noqa: B009

    return column(title, render, ordering)


def time_column(title: str, field: str, style: str = TO_MINUTE, empty: str = "–") -> Column:
    def render(row: object) -> str:
        moment = getattr(row, field)
        return empty if moment is None else shown_time(moment, style)

    return column(title, render, field)
