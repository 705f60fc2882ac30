"""Candidates for the top earners of a long time on PostgreSQL, found without its days: the rest need not be added up.

A row per item (or requester), currency, sign and year, with running totals by month, bounds what was earned: amounts
of the whole months at the least rate of the time from below, amounts of all months that it touches at the greatest
rate from above; the other way round for what was given back. Ten keys that surely earned something set the bar, and
whoever cannot reach it is out. All sums are exact, and so is the list that is then added up by day.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from analytics.models.usage import MONTHS
from analytics.revenue.spans import Span, Weights, rounded
from analytics.rollups.roll_up import PENDING_REVENUE
from analytics.rollups.upserts import Parameter, adapted, owned

# Below, adding up all days takes no longer than reading a row of each year.
LONG = timedelta(days=150)
# Short numbers multiply faster; rounded outwards they still bound.
DOWN, UP = Context(prec=6, rounding=ROUND_FLOOR), Context(prec=6, rounding=ROUND_CEILING)


def candidates(
    name: str, accounts: Sequence[str], span: Span, weights: Weights, count: int
) -> tuple[str, list[Parameter]]:
    """A WITH clause and its parameters: its `candidates` has the keys of all that may be top earners.

    Those are the `count` that earned most, equals included.

    Keys that set the bar have a bound above 0, so that each has entries in the span: one that has them only elsewhere
    in the months at its edges would take the place of another that is in the list, with a loss.
    """
    bounds, parameters = bounds_of(name, accounts, span, weights)
    foremost = f"ARRAY(SELECT key FROM ceiling ORDER BY highest DESC LIMIT {count:d})"  # noqa: S608
    bar = f"""SELECT min(lowest) FROM ({bounds}) AS bound WHERE key = ANY({foremost})
      HAVING count(*) = {count:d} AND min(lowest) > 0"""  # noqa: S608 - made of constants
    clause = f"""WITH ceiling AS MATERIALIZED (SELECT key, highest FROM ({bounds}) AS bound),
    candidates AS MATERIALIZED (SELECT key FROM ceiling WHERE highest >= coalesce(({bar}), highest))"""  # noqa: S608
    return clause, parameters * 2


def bounds_of(name: str, accounts: Sequence[str], span: Span, weights: Weights) -> tuple[str, list[Parameter]]:
    """SQL for each key's earnings in millionths of the report's currency: `lowest` and `highest`."""
    condition, owners = owned(accounts)
    first, last = span.start.date(), (span.end - timedelta.resolution).date()
    day = "(hour AT TIME ZONE 'UTC')::date"
    rows = f"""SELECT {name}_id AS key, currency, refund, {total(first, last)} AS touched,
        {total(*whole_months(span))} AS whole
      FROM analytics_{name}revenueyear WHERE {condition} AND year BETWEEN %s AND %s
      UNION ALL SELECT {name}_id, currency, amount < 0, amount, 0 FROM {PENDING_REVENUE}
      WHERE {condition} AND {day} BETWEEN %s AND %s"""  # noqa: S608 - made of constants
    values: dict[str, list[Decimal]] = {}
    for (_, code), weight in weights.items():
        values.setdefault(code, []).append(rounded(weight))
    low, high = [DOWN.plus(min(of)) for of in values.values()], [UP.plus(max(of)) for of in values.values()]
    sums = f"""SELECT key, sum(CASE WHEN refund THEN touched * high ELSE whole * low END) AS lowest,
        sum(CASE WHEN refund THEN whole * low ELSE touched * high END) AS highest
      FROM ({rows}) AS earned
      JOIN unnest(%s::text[], %s::numeric[], %s::numeric[]) AS rate (currency, low, high) USING (currency)
      GROUP BY key"""  # noqa: S608
    return sums, [*owners, first.year, last.year, *owners, adapted(first), adapted(last), list(values), low, high]


def whole_months(span: Span) -> tuple[date, date]:
    """The first and the last day of the whole months in the span; a long span has at least one."""
    begin, end = span.days
    if begin.day > 1:
        begin = (begin.replace(day=1) + timedelta(days=31)).replace(day=1)
    return begin, end.replace(day=1) - timedelta(days=1)


def total(first: date, last: date) -> str:
    """SQL for a row's total of the months from `first` to `last`, inclusive."""
    until = f"CASE year WHEN {last.year} THEN {MONTHS[last.month - 1]} ELSE {MONTHS[-1]} END"
    before = f"CASE year WHEN {first.year} THEN {MONTHS[first.month - 2]} ELSE 0 END" if first.month > 1 else "0"
    return f"CASE WHEN year BETWEEN {first.year} AND {last.year} THEN {until} - {before} ELSE 0 END"
