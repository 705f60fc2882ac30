"""The window of a page's figures, and rows of its lists."""

from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from analytics.revenue.report import change_percent
from analytics.revenue.serializers import HUNDREDTH
from analytics.windows import MICROSECOND, Window, end_of_day, start_of_period
from kit.values.amounts import WIDE
from operators.base.figures.choice import Choice
from operators.base.times.shown import time_filter

GROUPS = {"7d": "day", "30d": "day", "90d": "day", "year": "week"}  # of the charts, as in the reports' `groupBy`
GROUPS_OF_MONTHS = {1: "day", 3: "day", 12: "month"}  # by the length of a calendar period


class BarRow(Struct, frozen=True):
    """A row of a list: name, figure, length of its bar in per cent, and link."""

    name: str
    figure: str
    share: str
    link: str = ""
    hint: str = ""
    figure_link: str = ""  # link to what the figure counts


def window_of(choice: Choice, now: datetime) -> Window:
    """Return the chosen calendar period, or days of the accounts' time zone that end today."""
    months, period = choice.months, choice.calendar_period
    if period is not None:
        return Window(*period.bounds(months), GROUPS_OF_MONTHS[period.months], months.zone)
    end = end_of_day(now, months.zone)
    return Window(start_of_period(end, choice.period, months.zone), end, GROUPS[choice.period], months.zone)


def days_in_words(window: Window) -> dict[str, object]:
    """Return a window for a template, with its last day and the name of its time zone."""
    return {"window": window, "last_day": window.end - MICROSECOND, "zone_name": str(window.zone)}


def days_of(field: str, window: Window) -> dict[str, str]:
    """Return the window as a filter of a list by time."""
    return time_filter(field, window.start, window.end - MICROSECOND)


def render_change(total: Decimal, before: Decimal) -> str:
    """Return the change in per cent with its sign; empty if there was nothing before."""
    change = change_percent(total, before)
    return "" if change is None else f"{change.quantize(HUNDREDTH, context=WIDE):+,f} %"
