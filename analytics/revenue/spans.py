"""Time spans of revenue, and candidates for the top earners of a long one on PostgreSQL.

Candidates are found without reading single days. Each item or requester has one row per currency, sign and year with
running monthly totals. They bound the earnings: from below, whole months at the lowest exchange rate of the span; from
above, all months it touches at the highest rate; for refunds the other way round. The ten keys with the highest
guaranteed earnings set the bar, and keys that cannot reach it are excluded. All sums are exact, and so is the list
that is then added up by day.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from analytics.models.usage import MONTHS
from analytics.rates.conversion import PRECISION
from analytics.rollups.definitions import Parameter, accounts_condition, adapt
from analytics.rollups.roll_up import PENDING_REVENUE
from analytics.windows import DAY, midnight

Group = tuple[date, str]  # day and currency
Weights = Mapping[Group, Decimal]  # value of one unit in the report's currency, by day and currency

WEIGHT_PLACES = 40
NO_WEIGHT = Decimal(0)  # of a group without an exchange rate: its entries count nowhere


def round_weight(weight: Decimal) -> Decimal:
    return weight.quantize(Decimal(1).scaleb(-WEIGHT_PLACES), context=PRECISION)


@dataclass(frozen=True)
class RevenueSpan:
    """From `start` (included) to `end` (excluded)."""

    start: datetime
    end: datetime

    @property
    def days(self) -> tuple[date, date]:
        """Return the half-open range of whole days: first day, day after the last. Both are equal if there is none."""
        first = midnight(self.start)
        if first < self.start:
            first += DAY
        return first.date(), max(first, midnight(self.end)).date()

    @property
    def parts(self) -> list[tuple[datetime, datetime]]:
        """Return the partial days at the edges."""
        first, last = midnight(self.start), midnight(self.end)
        if first == last:
            return [(self.start, self.end)] if self.start < self.end else []
        edges = [(self.start, first + DAY)] if first < self.start else []
        return edges + ([(last, self.end)] if last < self.end else [])


# For shorter spans, adding up all days is as fast as reading the yearly rows.
LONG = timedelta(days=150)
# Short numbers multiply faster; rounded outwards they are still bounds.
DOWN, UP = Context(prec=6, rounding=ROUND_FLOOR), Context(prec=6, rounding=ROUND_CEILING)


def candidates(
    name: str, accounts: Sequence[str], span: RevenueSpan, weights: Weights, count: int
) -> tuple[str, list[Parameter]]:
    """Return a WITH clause whose `candidates` has the keys of all possible top earners, and its parameters.

    Top earners are the `count` highest, including ties.

    Only keys with a guaranteed amount above 0 set the bar, so each has entries in the span. A key with entries only
    elsewhere in the months at its edges could otherwise displace one with a loss.
    """
    bounds, parameters = bounds_of(name, accounts, span, weights)
    foremost = f"ARRAY(SELECT key FROM ceiling ORDER BY highest DESC LIMIT {count:d})"  # noqa: S608
    bar = f"""SELECT min(lowest) FROM ({bounds}) AS bound WHERE key = ANY({foremost})
      HAVING count(*) = {count:d} AND min(lowest) > 0"""  # noqa: S608 - made of constants
    clause = f"""WITH ceiling AS MATERIALIZED (SELECT key, highest FROM ({bounds}) AS bound),
    candidates AS MATERIALIZED (SELECT key FROM ceiling WHERE highest >= coalesce(({bar}), highest))"""  # noqa: S608
    return clause, parameters * 2


def bounds_of(name: str, accounts: Sequence[str], span: RevenueSpan, weights: Weights) -> tuple[str, list[Parameter]]:
    """Return SQL for each key's earnings in millionths of the report's currency, as `lowest` and `highest`."""
    condition, owners = accounts_condition(accounts)
    first, last = span.start.date(), (span.end - timedelta.resolution).date()
    day = "(hour AT TIME ZONE 'UTC')::date"
    rows = f"""SELECT {name}_id AS key, currency, refund, {months_total_sql(first, last)} AS touched,
        {months_total_sql(*whole_months(span))} AS whole
      FROM analytics_{name}revenueyear WHERE {condition} AND year BETWEEN %s AND %s
      UNION ALL SELECT {name}_id, currency, amount < 0, amount, 0 FROM {PENDING_REVENUE}
      WHERE {condition} AND {day} BETWEEN %s AND %s AND {name}_id IS NOT NULL"""  # noqa: S608 - made of constants
    values: dict[str, list[Decimal]] = {}
    for (_, code), weight in weights.items():
        values.setdefault(code, []).append(round_weight(weight))
    low, high = [DOWN.plus(min(of)) for of in values.values()], [UP.plus(max(of)) for of in values.values()]
    sums = f"""SELECT key, sum(CASE WHEN refund THEN touched * high ELSE whole * low END) AS lowest,
        sum(CASE WHEN refund THEN whole * low ELSE touched * high END) AS highest
      FROM ({rows}) AS earned
      JOIN unnest(%s::text[], %s::numeric[], %s::numeric[]) AS rate (currency, low, high) USING (currency)
      GROUP BY key"""  # noqa: S608
    return sums, [*owners, first.year, last.year, *owners, adapt(first), adapt(last), list(values), low, high]


def whole_months(span: RevenueSpan) -> tuple[date, date]:
    """Return the first and last day of the whole months in the span; a long span has at least one."""
    begin, end = span.days
    if begin.day > 1:
        begin = (begin.replace(day=1) + timedelta(days=31)).replace(day=1)
    return begin, end.replace(day=1) - timedelta(days=1)


def months_total_sql(first: date, last: date) -> str:
    """Return SQL for a row's total over the months from `first` to `last`, inclusive."""
    until = f"CASE year WHEN {last.year} THEN {MONTHS[last.month - 1]} ELSE {MONTHS[-1]} END"
    before = f"CASE year WHEN {first.year} THEN {MONTHS[first.month - 2]} ELSE 0 END" if first.month > 1 else "0"
    return f"CASE WHEN year BETWEEN {first.year} AND {last.year} THEN {until} - {before} ELSE 0 END"
