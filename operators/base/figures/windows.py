"""The window of a page's figures, and rows of its lists."""

from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from analytics.revenue.report import change_percent
from analytics.revenue.serializers import HUNDREDTH
from analytics.windows import MICROSECOND, USAGE, Window
from kit.values.amounts import WIDE
from operators.base.figures.choice import Choice
from operators.base.times.shown import time_filter

GROUPS = {"7d": "day", "30d": "day", "90d": "day", "year": "week"}  # of the charts, as in the reports' `groupBy`


class BarRow(Struct, frozen=True):
    """A row of a list: name, figure, length of its bar in per cent, and link."""

    name: str
    figure: str
    share: str
    link: str = ""
    hint: str = ""
    figure_link: str = ""  # link to what the figure counts


def window_of(choice: Choice, now: datetime) -> Window:
    return USAGE.parse({"period": choice.period, "groupBy": GROUPS[choice.period]}, now, lambda: None)


def days_of(field: str, window: Window) -> dict[str, str]:
    """Return the window, which consists of days of UTC, as a filter of a list by time."""
    return time_filter(field, window.start, window.end - MICROSECOND)


def render_change(total: Decimal, before: Decimal) -> str:
    """Return the change in per cent with its sign; empty if there was nothing before."""
    change = change_percent(total, before)
    return "" if change is None else f"{change.quantize(HUNDREDTH, context=WIDE):+,f} %"
