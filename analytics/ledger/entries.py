"""Adding entries to the ledger and its daily totals in one transaction.

`usage` entries are written with their decisions (analytics.recording.recorder), all others by `add_entries`.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC

from django.db import IntegrityError, connection, transaction
from django.db.models import Model

from analytics.models import ContentRevenue, LedgerEntry, RequesterRevenue, TierRevenue
from analytics.recording.recorder_sqlite import add_revenue
from analytics.rollups.upserts import REVENUE, REVENUE_KEYS, YEARLY_REVENUE, Parameter, prepare, revenue_of_years
from kit.http.errors import ValidationFailed
from kit.values.amounts import to_millionths

ROLLUPS: dict[str, tuple[type[Model], str]] = {  # with the key's type on PostgreSQL
    "content": (ContentRevenue, "uuid"),
    "requester": (RequesterRevenue, "bigint"),
    "tier": (TierRevenue, "text"),
}


def add_entries(entries: Sequence[LedgerEntry]) -> None:
    """Store entries of any accounts and days, and add them to the daily rollups.

    Call it once per transaction, late: the rollups stay locked until the commit. It locks them in the order of
    REVENUE_KEYS, like a roll-up (analytics.rollups.roll_up), so that transactions cannot deadlock. Raises
    ValidationFailed if a day's total would exceed what the database stores exactly.
    """
    with transaction.atomic():
        LedgerEntry.objects.bulk_create(entries, batch_size=1000)
        try:
            for name in REVENUE_KEYS:
                add_totals(name, totals(name, entries))
                if name in YEARLY_REVENUE and connection.vendor == "postgresql":
                    add_to_years(name, entries)
        except (IntegrityError, OverflowError):  # on SQLite
            raise ValidationFailed("The totals of that day cannot hold this amount.", param="amount") from None


def totals(name: str, entries: Sequence[LedgerEntry]) -> Counter[tuple[Parameter, ...]]:
    """Return the sums in millionths by account, day, currency and the rollup's key."""
    sums: Counter[tuple[Parameter, ...]] = Counter()
    for entry in entries:
        key = (entry.license_type or "",) if name == "tier" else (getattr(entry, f"{name}_id"),)
        if key != (None,):
            day = entry.occurred_at.astimezone(UTC).date()
            sums[entry.account_id, day, entry.currency, *key] += to_millionths(entry.amount)
    return sums


def add_totals(name: str, sums: Counter[tuple[Parameter, ...]]) -> None:
    if not sums:
        return
    model, key_type = ROLLUPS[name]
    key = REVENUE_KEYS[name]
    types = {"account_id": "uuid", "day": "date", "currency": "text", key: key_type}
    columns = [
        [prepare(model, column, value) for value in values]
        for column, values in zip(types, zip(*sums, strict=True), strict=True)
    ]
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            add_revenue(cursor, name, list(zip(*columns, sums.values(), strict=True)))
            return
        arrays = ", ".join(f"%s::{type_}[]" for type_ in [*types.values(), "numeric"])
        order = ", ".join(str(n + 1) for n in range(len(types)))  # sorted by the database, whose order of text differs
        source = f"SELECT * FROM unnest({arrays}) ORDER BY {order}"  # noqa: S608 - made of the constants above
        statement = REVENUE.format(one=name, key=key, source=source)
        cursor.execute(statement, [*columns, list(sums.values())])


def add_to_years(name: str, entries: Sequence[LedgerEntry]) -> None:
    model, key_type = ROLLUPS[name]
    types = {
        "account_id": "uuid",
        "currency": "text",
        REVENUE_KEYS[name]: key_type,
        "day": "date",
        "amount": "numeric",
    }
    columns = [[prepare(model, column, getattr(entry, column)) for entry in entries] for column in list(types)[:3]]
    columns.append([entry.occurred_at.astimezone(UTC).date() for entry in entries])
    columns.append([to_millionths(entry.amount) for entry in entries])
    arrays = ", ".join(f"%s::{type_}[]" for type_ in types.values())
    rows = f"SELECT * FROM unnest({arrays}) AS one ({', '.join(types)})"  # noqa: S608 - made of the constants above
    with connection.cursor() as cursor:
        cursor.execute(f"WITH one AS ({rows}) {revenue_of_years(name)}", columns)
