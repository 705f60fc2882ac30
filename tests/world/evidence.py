"""Everything that the service reports at the end of the month: all lists by pages and as files, all reports."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import chain, product
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql

from tests.archived import newest_table, on_disk
from tests.world.caller import Caller
from tests.world.publisher import IS_WHOLE, MONTH, PAGES_ITEMS, external_id
from tests.world.world import World

EXPORTED = {
    "content": "/v1/content",
    "policies": "/v1/policies",
    "licences": "/v1/licenses",
    "sites": "/v1/sites",
    "decisions": "/v1/access/decisions",
    "ledger": "/v1/revenue",
    "payments": "/v1/payments",
    "statements": "/v1/statements",
    "requesters": "/v1/requesters",
    "events": "/v1/events",
    "audit log": "/v1/audit",
    "wallets": "/v1/wallets",
    "API keys": "/v1/api-keys",
}
ONLY_LISTED = {"webhooks": "/v1/webhooks", "licence clients": "/v1/license-clients"}
NESTED = {
    "entries": "/v1/wallets/{id}/entries",
    "grants": "/v1/wallets/{id}/grants",
    "lines": "/v1/statements/{id}/lines",
    "counted payments": "/v1/statements/{id}/payments",
}
FORMS = ("lists", "csv", "jsonl")
REPORTS = {
    "usage": "/v1/analytics/usage",
    "revenue report": "/v1/analytics/revenue",
    "pages": "/v1/analytics/pages",
    "crawlers": "/v1/analytics/crawlers",
}
WINDOWS: list[dict[str, str]] = [
    {},
    {"period": "7d"},
    {"period": "year", "groupBy": "month"},
    {"startDate": f"{MONTH}-20", "endDate": f"{MONTH}-28", "groupBy": "week"},
    {"startDate": f"{MONTH}-22"},
    # Days of other time zones: the ends are in the middle of a day of UTC.
    {"startDate": f"{MONTH}-20T00:00:00+09:00", "endDate": f"{MONTH}-31T23:59:59.999999-07:00"},
]
FOR_USAGE: list[dict[str, str]] = [{"period": "all"}, {"startDate": f"{MONTH}-17", "groupBy": "hour"}]
CURRENCIES = ("USD", "EUR", "JPY")


def gather(world: World) -> dict[str, Any]:
    api = world.api()
    lists = {name: walk(api, path) for name, path in {**EXPORTED, **ONLY_LISTED}.items()}
    nested = {name: nested_lists(api, name, lists) for name in NESTED}
    return {
        **world.found,
        "now": world.clock.now(),
        "lists": lists,
        "csv": {name: read_csv(api, path) for name, path in EXPORTED.items()},
        "jsonl": {name: read_jsonl(api, path) for name, path in EXPORTED.items()},
        "usage": usage_reports(api, lists["decisions"]["rows"]),
        "revenue": revenue_reports(api),
        "stats": item_stats(world, api),
        **nested,
        "nested files": {
            name: {id_: files_of(api, NESTED[name].format(id=id_)) for id_ in rows} for name, rows in nested.items()
        },
        "reports": {name: api.get(path, period="all") for name, path in REPORTS.items()},
        "report files": {name: files_of(api, path, period="all") for name, path in REPORTS.items()},
        "exportable": exportable(api),
        "received": [list(receiver.deliveries) for receiver in world.machines.receivers],
        "webhooks": world.webhooks,
        "served": list(world.machines.origin.served),
    }


def walk(api: Caller, path: str, **query: Any) -> dict[str, Any]:
    """Fetch all pages of a list: the rows, and each page's total."""
    rows: list[Any] = []
    totals: list[int] = []
    query = {"limit": 100, **query}
    while True:
        page = api.get(path, **query)
        rows += page["data"]
        totals.append(page["totalCount"])
        if not page["hasMore"]:
            return {"rows": rows, "totals": totals}
        query["cursor"] = page["nextCursor"]


def read_file(api: Caller, path: str, format_: str, **query: Any) -> bytes:
    reply = api.send_until_answered("GET", f"{path}?{urlencode({**query, 'format': format_})}")
    assert reply.status == 200, (path, reply.status, reply.content[:2000])
    return reply.content


def read_jsonl(api: Caller, path: str, **query: Any) -> list[Any]:
    lines = read_file(api, path, "jsonl", **query).splitlines()
    return [json.loads(line, parse_float=Decimal) for line in lines]


def read_csv(api: Caller, path: str, **query: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(read_file(api, path, "csv", **query).decode(), newline="")))


def files_of(api: Caller, path: str, **query: Any) -> tuple[list[dict[str, str]], list[Any]]:
    """Return the rows of the CSV and of the JSON Lines."""
    return read_csv(api, path, **query), read_jsonl(api, path, **query)


def exportable(api: Caller) -> set[str]:
    """Return the paths that the OpenAPI document offers as CSV."""
    described = api.get("/v1/openapi.json")["paths"]
    return {
        path
        for path, operations in described.items()
        if "text/csv" in operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
    }


def usage_reports(api: Caller, decisions: list[Any]) -> list[tuple[dict[str, str], Any]]:
    """Return the report for each window; the last window ends at a decision's exact time."""
    newest_first = decisions[len(decisions) // 3]["created"]
    queries = [*WINDOWS, *FOR_USAGE, {"startDate": f"{MONTH}-15", "endDate": newest_first}]
    return [(query, api.get("/v1/analytics/usage", **query)) for query in queries]


def revenue_reports(api: Caller) -> list[tuple[dict[str, str], Any]]:
    queries = [{**window, "currency": currency} for window, currency in product(WINDOWS, CURRENCIES)]
    return [(query, api.get("/v1/analytics/revenue", **query)) for query in queries]


def item_stats(world: World, api: Caller) -> dict[str, Any]:
    """Return the stats of the most requested items by id."""
    ids = [world.ids[external_id(number)] for number in range(0, PAGES_ITEMS, 1 if IS_WHOLE else 4)]
    return {id_: api.get(f"/v1/content/{id_}")["stats"] for id_ in ids}


def nested_lists(api: Caller, name: str, lists: dict[str, Any]) -> dict[str, Any]:
    """Return rows by wallet or statement: of all wallets, statements with charges or payouts, and some others."""
    statements = lists["statements"]["rows"]
    chosen = [row for row in statements if row["decisions"] or row["payouts"]] + statements[-5:]
    parents = lists["wallets"]["rows"] if name in ("entries", "grants") else chosen
    return {row["id"]: walk(api, NESTED[name].format(id=row["id"]), limit=20)["rows"] for row in parents}


def traces_of(world: World, found: dict[str, Any], traces: Iterable[str]) -> list[tuple[str, str]]:
    """Find the texts in tables, logs, lists and files; return (place, text) pairs."""
    wanted = {spelling.encode(): text for text in traces for spelling in (text, quote(text, safe=""), quote(text))}
    shown = [(f"{form} of {name}", repr(rows).encode()) for form in FORMS for name, rows in found[form].items()]
    places = chain(tables(world), logs(world), shown)
    return sorted({(place, text) for place, content in places for one, text in wanted.items() if one in content})


def tables(world: World) -> Iterator[tuple[str, bytes]]:
    """Yield every database table as stored by PostgreSQL."""
    assert world.service.postgres
    with psycopg.connect(world.service.postgres.url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        for (name,) in cursor.fetchall():
            statement = sql.SQL("COPY (SELECT * FROM {}) TO STDOUT (FORMAT binary)").format(sql.Identifier(name))
            with cursor.copy(statement) as copy:
                yield f"table {name}", b"".join(copy)


def logs(world: World) -> Iterator[tuple[str, bytes]]:
    """Yield the service's log and all other files in its directory."""
    for file in world.service.directory.rglob("*"):
        if file.is_file() and "nginx" not in file.parts:
            yield f"file {file.name}", file.read_bytes()


def after_the_purge(world: World) -> dict[str, Any]:
    """Return figures of whole days after the first month's decisions were deleted, which must not change."""
    world.run("purge_events", "--keep-days", "1")
    api = world.api()
    in_whole_days = [query for query in (*WINDOWS, *FOR_USAGE) if "T" not in "".join(query.values())]
    return {
        "decisions": walk(api, EXPORTED["decisions"])["rows"],
        "usage": [(query, api.get("/v1/analytics/usage", **query)) for query in in_whole_days],
        "revenue": revenue_reports(api),
        "statements": walk(api, EXPORTED["statements"])["rows"],
        "stats": item_stats(world, api),
    }


def archived(world: World) -> list[dict[str, Any]]:
    """Return the decisions in the archive as any reader of its folder finds them, after a run of its command."""
    world.run("archive_events")
    table = newest_table(on_disk(world.service.directory / "archive"))
    assert table
    columns = ("id", "requester_id", "content", "allowed", "reason")
    rows: list[dict[str, Any]] = table.scan(selected_fields=columns).to_arrow().to_pylist()
    return rows
