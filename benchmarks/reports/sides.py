"""Three ways to the same figures: the reports, plain queries on the same database, and the same queries in DuckDB."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
from django.db import connection

from analytics.models import ExchangeRate
from benchmarks.reports import ours, plain
from benchmarks.reports.plain import Figures, Store
from benchmarks.reports.year import dollars, published_rates
from kit.values import ids

Side = Callable[[str], Figures]  # takes a period

EVENTS = {"content_id": "UUID", "requester_id": "INTEGER", "reason": "VARCHAR", "created": "TIMESTAMP"}
LEDGER = {
    "amount": "BIGINT",
    "currency": "VARCHAR",
    "occurred_at": "TIMESTAMP",
    "license_type": "VARCHAR",
    "content_id": "UUID",
    "requester_id": "INTEGER",
}
RATE = "CREATE {} TABLE rate (day date, currency varchar(3), dollars {}, PRIMARY KEY (currency, day))"


def add_rates(today: date) -> None:
    """Publish the invented rates, as import_exchange_rates would."""
    ExchangeRate.objects.bulk_create(
        ExchangeRate(day=day, currency=currency, rate=f"{rate:f}") for day, currency, rate in published_rates(today)
    )


def same_database(database: ModuleType, account: str, now: datetime) -> Store:
    """Return the service's own connection, with the rates in a temporary table."""
    with connection.cursor() as cursor:
        cursor.execute(RATE.format("TEMPORARY", database.EXACT))
        cursor.executemany("INSERT INTO rate VALUES (%s, %s, %s)", list(dollars(now.date())))
        cursor.execute("ANALYZE rate")

    def run(query: str) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()

    return Store(run, database.owned(account), database.DATE)


def in_duckdb(database: ModuleType, directory: Path, now: datetime) -> Store:
    """Copy the columns that the queries need to DuckDB's own format."""
    duck = duckdb.connect(str(directory / "events.duckdb"))
    for table, columns, moment in (
        ("analytics_accessevent", EVENTS, "created"),
        ("analytics_ledgerentry", LEDGER, "occurred_at"),
    ):
        file = directory / f"{table}.csv"
        database.dump(table, tuple(columns), moment, file)
        duck.execute(f"CREATE TABLE {table} ({', '.join(f'{name} {type_}' for name, type_ in columns.items())})")
        duck.execute(f"COPY {table} FROM '{file}' (FORMAT csv, HEADER false)")
        file.unlink()
    duck.execute(RATE.format("", "DOUBLE"))
    duck.executemany("INSERT INTO rate VALUES (?, ?, ?)", [(*key, float(rate)) for *key, rate in dollars(now.date())])
    return Store(lambda query: duck.execute(query).fetchall(), "true", "{0}::date")


class Sides:
    """The sides of each report, by the names shown in the result; each also computes the period's window."""

    def __init__(self, database: ModuleType, account: str, directory: Path) -> None:
        self.account, self.now = account, datetime.now(UTC)
        self.same = same_database(database, ids.id_to_hex("acc", account), self.now)
        self.duckdb = in_duckdb(database, directory, self.now)

    def entries(self) -> int:
        """Return the number of ledger entries."""
        return self.same.run("SELECT count(*) FROM analytics_ledgerentry")[0][0]

    def usage(self) -> dict[str, Side]:
        def window(period: str) -> Any:
            return ours.usage_window(self.account, period, self.now)

        return {
            "this report": lambda period: ours.usage_figures(self.account, window(period)),
            "five queries on the events": lambda period: plain.usage(self.same, window(period)),
            "DuckDB": lambda period: plain.usage(self.duckdb, window(period)),
        }

    def revenue(self) -> dict[str, Side]:
        def window(period: str) -> Any:
            return ours.revenue_window(self.account, period, self.now)

        return {
            "this report": lambda period: ours.revenue_figures(self.account, window(period), self.now),
            "six queries on the ledger": lambda period: plain.revenue(self.same, window(period)),
            "DuckDB": lambda period: plain.revenue(self.duckdb, window(period)),
        }
