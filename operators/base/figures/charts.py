"""Charts: tables of figures that a script draws (operators/static/operators/charts.js) and that remain without it.

`share` is for the bars beside figures in lists.
"""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from django.forms import Media
from msgspec import Struct

# Files needed by a page with charts.
CHART_FILES = Media(
    css={"all": ["operators/overview.css", "uplot/uPlot.min.css"]},
    js=["uplot/uPlot.iife.min.js", "operators/charts.js"],
)
Number = int | Decimal


class Column(Struct, frozen=True):
    """`kind` is its colour in the stylesheet; empty if it is not drawn, such as a total."""

    name: str
    kind: str = ""


class Row(Struct, frozen=True):
    """The formatted figures of a day, or of a week by its first day."""

    date: date
    figures: Sequence[str]

    @property
    def tick(self) -> str:
        return f"{self.date.day} {self.date:%b}"


class Chart(Struct, frozen=True):
    """A bar chart, each bar stacked from the drawn columns."""

    what: str  # as in "Decisions by day"
    unit: str
    group_by: str
    columns: Sequence[Column]
    rows: Sequence[Row]


def share(value: Number, largest: Number) -> str:
    """Return the length of a bar in per cent."""
    return f"{max(Decimal(value) * 100 / Decimal(largest), Decimal(0)):.2f}" if largest else "0"


def decisions_chart(group_by: str, rows: Sequence[tuple[date, int, int | None]]) -> Chart | None:
    """Build a chart from rows of date, requests and allowed requests (None if unknown).

    Returns None if there were no requests.
    """
    if not any(requests for _, requests, _ in rows):
        return None
    columns = [Column("Allowed", "allowed"), Column("Denied", "denied"), Column("Total")]
    some_unknown = any(allowed is None for _, _, allowed in rows)
    if some_unknown:
        columns.insert(2, Column("Allowed or denied", "plain"))
    shown = []
    for day, requests, allowed in rows:
        total = f"{requests:,}"
        if allowed is None:
            cells = ["–", "–", total, total]
        elif some_unknown:
            cells = [f"{allowed:,}", f"{requests - allowed:,}", "–", total]
        else:
            cells = [f"{allowed:,}", f"{requests - allowed:,}", total]
        shown.append(Row(day, cells))
    return Chart("Decisions", "Decisions", group_by, columns, shown)
