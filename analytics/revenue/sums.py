"""Revenue sums over a span: whole UTC days from rollups, partial days from entries.

Sums are by day and currency, because exchange rates are. A year's rollup has a row per day, currency and item (or
requester). PostgreSQL multiplies and adds them and returns only the top ten; over long spans analytics.revenue.spans
first excludes most items. SQLite lacks exact decimals, so Python adds up whole numbers. Both process about a million
rows a second.
"""

import heapq
from collections import defaultdict
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Model

from analytics.models import ContentRevenue, LedgerEntry, RequesterRevenue, TierRevenue
from analytics.rates.conversion import PRECISION
from analytics.revenue.spans import LONG, WEIGHT_PLACES, Group, RevenueSpan, Weights, candidates, round_weight
from analytics.rollups.definitions import REVENUE_KEYS, Parameter, accounts_condition, adapt, prepare
from analytics.rollups.roll_up import HAS_PENDING_ROWS, PENDING_REVENUE
from analytics.usage.time_zone_buckets import sums_of_parts
from analytics.windows import DAY, Window, midnight
from kit.rest.resources import referred_model
from kit.storage.by_database import by_database
from kit.storage.reading import use_memory
from kit.storage.replica import reading_connection
from kit.values import ids
from kit.values.decimals import from_millionths

Sum = tuple[str, date, str, Decimal]  # licence type, day, currency, amount

StoredKey = ids.RawId | int  # key of an item or requester, as returned by the database
Key = str | int  # an item's id or a requester's number

ROLLUPS: dict[str, type[Model]] = {"content": ContentRevenue, "requester": RequesterRevenue}
SUM_PLACES = WEIGHT_PLACES // 2  # hides the rounding of the weights


def rows_of(
    name: str, accounts: Sequence[str], span: RevenueSpan, key: Key | None = None
) -> tuple[str, list[Parameter]]:
    """Return SQL for a rollup's rows, pending rows and entries at the edges, and its parameters.

    Columns: key, day, currency, amount in millionths. With `key`, only its rows.
    """
    column = REVENUE_KEYS[name]
    condition, owners = accounts_condition(accounts)
    in_span, days = "day >= %s AND day < %s", list[Parameter](span.days)
    if key is not None:
        condition, owners = f"{condition} AND {column} = %s", [*owners, prepare(LedgerEntry, column, key)]
        in_span, days = days_and_currencies(accounts, span)
    selects = [
        f"SELECT {column} AS key, day, currency, amount FROM analytics_{name}revenue"  # noqa: S608 - made of constants
        f" WHERE {condition} AND {in_span}"
    ]
    parameters: list[Parameter] = [*owners, *days]
    if HAS_PENDING_ROWS:
        date_ = "(hour AT TIME ZONE 'UTC')::date"
        selects.append(
            f"SELECT {column}, {date_}, currency, amount FROM {PENDING_REVENUE}"  # noqa: S608
            f" WHERE {condition} AND {date_} >= %s AND {date_} < %s"
        )
        parameters += [*owners, *span.days]
    day = by_database(postgresql="%s::date", sqlite="%s")
    for start, end in span.parts:
        selects.append(
            f"SELECT {column}, {day}, currency, amount"  # noqa: S608
            f" FROM analytics_ledgerentry WHERE {condition} AND occurred_at >= %s AND occurred_at < %s"
        )
        parameters += [start.date(), *owners, start, end]
    return " UNION ALL ".join(selects), [adapt(value) for value in parameters]


def days_and_currencies(accounts: Sequence[str], span: RevenueSpan) -> tuple[str, list[Parameter]]:
    """Return a condition for the days of a span, and its parameters. An index finds each row of a key by it."""
    first, after = span.days
    totals = TierRevenue.objects.filter(account_id__in=accounts, day__gte=first, day__lt=after)
    currencies = list(totals.order_by().values_list("currency", flat=True).distinct())
    if not currencies:
        return "1 = 0", []
    days = [first + number * DAY for number in range((after - first).days)]
    marks = (", ".join(["%s"] * len(values)) for values in (days, currencies))
    return "day IN ({}) AND currency IN ({})".format(*marks), [*days, *currencies]


def sums_of_one(name: str, account_id: str, key: Key, window: Window) -> dict[str, Decimal]:
    """Return what an item or requester earned, by currency; currencies without entries are absent."""
    rows, parameters = rows_of(name, [account_id], RevenueSpan(window.start, window.end), key)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT currency, sum(amount) FROM ({rows}) AS entry GROUP BY 1 ORDER BY 1", parameters)  # noqa: S608
        return {code: from_millionths(sum_) for code, sum_ in cursor.fetchall()}


def sums_by_license_type(accounts: Sequence[str], span: RevenueSpan) -> list[Sum]:
    """Return the sums of all entries, each counted once; the licence type is `""` for entries without one."""
    rows, parameters = rows_of("tier", accounts, span)
    grouped = f"SELECT coalesce(key, ''), day, currency, sum(amount) FROM ({rows}) AS entry GROUP BY 1, 2, 3"  # noqa: S608
    with reading_connection().cursor() as cursor:
        cursor.execute(grouped, parameters)
        return [
            (license_type, as_date(day), code, from_millionths(sum_))
            for license_type, day, code, sum_ in cursor.fetchall()
        ]


def sums_before_buckets(accounts: Sequence[str], window: Window) -> list[tuple[datetime, date, str, Decimal]]:
    """Return the sums of entries on a bucket's first UTC day that belong to the bucket before.

    Columns: the bucket, the UTC day, currency, amount. Empty for buckets of UTC.
    """
    begins = {
        max(midnight(bucket), window.start): bucket
        for bucket in window.buckets()
        if bucket != midnight(bucket) and window.start < bucket < window.end
    }
    rows = sums_of_parts(accounts, begins, "analytics_ledgerentry", "occurred_at", "sum(amount)", "currency, ")
    return [(bucket, midnight(bucket).date(), code, from_millionths(sum_)) for bucket, code, sum_ in rows]


def count_entries(
    accounts: Sequence[str], start: datetime, end: datetime, currencies: Sequence[str]
) -> dict[Group, int]:
    """Return the number of entries of these currencies by UTC day and currency; `end` is excluded."""
    condition, owners = accounts_condition(accounts)
    day = by_database(postgresql="(occurred_at AT TIME ZONE 'UTC')::date", sqlite="substr(occurred_at, 1, 10)")
    codes = ", ".join(["%s"] * len(currencies))
    statement = (
        f"SELECT {day}, currency, count(*) FROM analytics_ledgerentry"  # noqa: S608 - made of constants
        f" WHERE {condition} AND occurred_at >= %s AND occurred_at < %s AND currency IN ({codes}) GROUP BY 1, 2"
    )
    with reading_connection().cursor() as cursor:
        cursor.execute(statement, [*owners, adapt(start), adapt(end), *currencies])
        return {(as_date(day), code): number for day, code, number in cursor.fetchall()}


def as_date(day: date | str) -> date:
    return date.fromisoformat(day) if isinstance(day, str) else day


def top_earners(
    name: str, accounts: Sequence[str], span: RevenueSpan, weights: Weights, currency: str, count: int
) -> dict[Key, Decimal]:
    """Return the `count` top earners and their revenue in `currency`, ties by id. `name` is content or requester.

    Entries that are newer than the weights may be left out, but are never added unconverted. Whoever has only entries
    without a rate is no earner.
    """
    if not any(weights.values()):
        return {}
    with use_memory(), reading_connection().cursor() as cursor:
        find_top = by_database(postgresql=top_on_postgresql, sqlite=top_on_sqlite)
        earned = find_top(cursor, name, accounts, span, weights, currency, count)
    step = Decimal(1).scaleb(-SUM_PLACES)
    return {key: amount.scaleb(-6, PRECISION).quantize(step, context=PRECISION) for key, amount in earned.items()}


# By the id in the API.
TIE_ORDER_SQL = {
    "content": "key",
    "requester": '(SELECT requester_id FROM licensing_requester WHERE id = key) COLLATE "C"',
}


def top_on_postgresql(
    cursor: CursorWrapper,
    name: str,
    accounts: Sequence[str],
    span: RevenueSpan,
    weights: Weights,
    currency: str,
    count: int,
) -> dict[Key, Decimal]:
    """Return the top earners in millionths."""
    worth, rates = "amount", "WHERE currency = %s"  # entries in other currencies may be newer
    values: list[Parameter] = [currency]
    if {code for _, code in weights} != {currency}:
        worth = "amount * weight"
        types = "%s::date[], %s::text[], %s::numeric[]"
        rates = f"JOIN unnest({types}) AS rate (day, currency, weight) USING (day, currency)"
        rated = [(day, code, round_weight(weight)) for (day, code), weight in weights.items() if weight]
        values = [list(column) for column in zip(*rated, strict=True)]
    rows, parameters = rows_of(name, accounts, span)
    clause, condition, fence = "", "key IS NOT NULL", ""
    if span.end - span.start >= LONG:
        clause, of_candidates = candidates(name, accounts, span, weights, count)
        condition, parameters = "key IN (SELECT key FROM candidates)", [*of_candidates, *parameters]
        fence = "OFFSET 0"  # forces this to be the first join; the planner cannot know how few keys it has
    cursor.execute(
        f"""{clause}
        SELECT key, earned FROM (
          SELECT key, sum({worth}) AS earned
          FROM (SELECT * FROM ({rows}) AS entry WHERE {condition} {fence}) AS entry {rates} GROUP BY key
        ) AS earner
        ORDER BY earned DESC, {TIE_ORDER_SQL[name]} LIMIT {count:d}
        """,  # noqa: S608 - made of constants
        [*parameters, *values],
    )
    return {load_key(name, key): Decimal(earned) for key, earned in cursor.fetchall()}


def top_on_sqlite(
    cursor: CursorWrapper,
    name: str,
    accounts: Sequence[str],
    span: RevenueSpan,
    weights: Weights,
    currency: str,
    count: int,
) -> dict[Key, Decimal]:
    """Return the top earners in millionths."""
    cursor.execute(*rows_of(name, accounts, span))
    whole: dict[tuple[date | str, str], int] = {}
    for (day, code), weight in weights.items():
        if not weight:
            continue
        # Days are dates or, from a UNION, strings.
        whole[day, code] = whole[str(day), code] = int(round_weight(weight).scaleb(WEIGHT_PLACES, PRECISION))
    earned: defaultdict[StoredKey | None, int] = defaultdict(int)
    while rows := cursor.fetchmany(10_000):
        for key, day, code, amount in rows:
            if (day, code) in whole:
                earned[key] += amount * whole[day, code]
    earned.pop(None, None)  # revenue without an item or requester
    worst = min(heapq.nlargest(count, earned.values()), default=0)
    ahead = {load_key(name, key): sum_ for key, sum_ in earned.items() if key is not None and sum_ >= worst}
    shown = names(name, list(ahead)) if len(ahead) > count else dict.fromkeys(ahead, ("", None))
    ranked = sorted(ahead, key=lambda key: (-ahead[key], shown[key][0]))[:count]
    return {key: PRECISION.scaleb(Decimal(ahead[key]), -WEIGHT_PLACES) for key in ranked}


def load_key(name: str, key: StoredKey) -> Key:
    """Return a key as the model represents it."""
    if isinstance(key, int):
        return key
    return ids.encode(ids.id_prefix(referred_model(ROLLUPS[name], name)), ids.raw_bytes(key))


def names(name: str, keys: Sequence[Key]) -> dict[Key, tuple[str, str | None]]:
    """Return the id in the API and the title or name, by key."""
    if not keys:
        return {}
    columns = ("pk", "title") if name == "content" else ("requester_id", "name")
    rows = referred_model(ROLLUPS[name], name)._default_manager.filter(pk__in=keys).values_list("pk", *columns)
    return {key: (id_, shown) for key, id_, shown in rows}
