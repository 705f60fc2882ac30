"""Charts: tables of figures, which a script draws (operators/static/operators/charts.js). Without it there
is the table.

`share` is for the bars beside figures in lists.
"""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from django.forms import Media
from msgspec import Struct

# What a page with charts takes.
CHART_FILES = Media(
    css={"all": ["operators/overview.css", "uplot/uPlot.min.css"]},
    js=["uplot/uPlot.iife.min.js", "operators/charts.js"],
)
Number = int | Decimal


class Column(Struct, frozen=True):
    """`kind` is its colour in the stylesheet; empty for one that is not drawn, such as a total."""

    name: str
    kind: str = ""


class Row(Struct, frozen=True):
    """The figures of a day, or of the week that begins with it, as they are shown."""

    date: date
    figures: Sequence[str]

    @property
    def tick(self) -> str:
        return f"{self.date.day} {self.date:%b}"


class Chart(Struct, frozen=True):
    """Bars, each stacked of the columns that are drawn."""

    what: str  # as in "Decisions by day"
    unit: str
    group_by: str
    columns: Sequence[Column]
    rows: Sequence[Row]


def share(value: Number, largest: Number) -> str:
    """The length in per cent of a bar beside a figure."""
    return f"{max(Decimal(value) * 100 / Decimal(largest), Decimal(0)):.2f}" if largest else "0"


def decisions_chart(group_by: str, rows: Sequence[tuple[date, int, int | None]]) -> Chart | None:
    """Of days (or weeks) with the decisions on each, and how many were allowed, None where that is not known.

    None if there were no decisions.
    """
    if not any(requests for _, requests, _ in rows):
        return None
    columns = [Column("Allowed", "allowed"), Column("Denied", "denied"), Column("Total")]
    unknown = any(allowed is None for _, _, allowed in rows)
    if unknown:
        columns.insert(2, Column("Allowed or denied", "plain"))
    return Chart("Decisions", "Decisions", group_by, columns, [decisions_row(*row, unknown=unknown) for row in rows])


def decisions_row(day: date, requests: int, allowed: int | None, *, unknown: bool) -> Row:
    total = f"{requests:,}"
    if allowed is None:
        return Row(day, ("–", "–", total, total))
    told = (f"{allowed:,}", f"{requests - allowed:,}")
    return Row(day, (*told, "–", total) if unknown else (*told, total))
