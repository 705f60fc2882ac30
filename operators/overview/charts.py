"""Bar charts as SVG that the server draws: nothing runs in the browser, and every figure is in a table beside it.

A chart stretches to the width that there is; its words stand beside it in HTML, so that they keep their size.
"""

from collections.abc import Sequence
from decimal import Decimal

from msgspec import Struct

WIDTH, HEIGHT = 10, 100  # of one bar with the space around it, and of the chart
Number = int | Decimal


class Part(Struct, frozen=True):
    """A rectangle of a bar; `kind` is its class in the stylesheet."""

    kind: str
    y: str
    height: str


class Bar(Struct, frozen=True):
    left: int
    parts: tuple[Part, ...]
    told: str


class Chart(Struct, frozen=True):
    bars: tuple[Bar, ...]
    width: int
    zero: str  # where the line of 0 is


def draw(bars: Sequence[tuple[str, Sequence[tuple[str, Number]]]]) -> Chart | None:
    """The chart of bars, each with its text and its stacked parts (kind, value); None if all are 0.

    A bar of several parts has no negative ones.
    """
    heights = [sum(Decimal(value) for _, value in parts) for _, parts in bars]
    top, bottom = max([Decimal(0), *heights]), min([Decimal(0), *heights])
    if top == bottom:
        return None
    scale = Decimal(HEIGHT) / (top - bottom)
    drawn = []
    for index, (told, parts) in enumerate(bars):
        stacked, base = [], Decimal(0)
        for kind, value in parts:
            end = base + value
            stacked.append(Part(kind, places((top - max(base, end)) * scale), places(abs(end - base) * scale)))
            base = end
        drawn.append(Bar(index * WIDTH, tuple(part for part in stacked if part.height != "0.00"), told))
    return Chart(tuple(drawn), len(drawn) * WIDTH, places(top * scale))


def places(number: Decimal) -> str:
    return f"{number:.2f}"


def share(value: Number, largest: Number) -> str:
    """The length in per cent of a bar beside a figure."""
    return places(max(Decimal(value) * 100 / Decimal(largest), Decimal(0))) if largest else "0"
