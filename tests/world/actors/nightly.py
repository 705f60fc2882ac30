"""The nightly job: exchange rates, catalogue changes from a file, data warehouse exports, and upkeep."""

import csv
import json
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from tests.world import publisher
from tests.world.actors import catalogue
from tests.world.world import World

FILES = ("/v1/access/decisions", "/v1/revenue", "/v1/events", "/v1/audit")  # lists that the warehouse loads each night


def work(world: World, days: list[date]) -> None:
    """Run the jobs after the last of these days has ended."""
    day = days[-1]
    import_rates(world, days)
    take_over(world, days[0], day)
    if day.weekday() in (0, 3):
        import_items(world, day)
    if day.weekday() == 6:
        compare_with_records(world, day)
    world.run("deliver_webhooks", "--until-idle")
    world.run("close_statements")
    world.run("purge_idempotency_keys")
    world.run("make_partitions")


def import_rates(world: World, days: Iterable[date]) -> None:
    """Import the European Central Bank's rates of these days; none at weekends."""
    for day in days:
        if day.weekday() < 5:
            world.diary.rates[day.isoformat()] = rates_of(day)
    known = sorted(world.diary.rates.items(), reverse=True)
    lines = [f"{day},{rates['USD']},{rates['JPY']},N/A," for day, rates in known]
    file = world.service.directory / "eurofxref-hist.csv"
    file.write_text("\n".join(["Date,USD,JPY,BGN,", *lines]) + "\n")
    world.run("import_exchange_rates", str(file))


def rates_of(day: date) -> dict[str, Decimal]:
    """Invented exchange rates, different ones each day."""
    number = day.toordinal() % 97
    return {"USD": Decimal("1.0500") + Decimal(number) / 1000, "JPY": Decimal(150) + Decimal(number) / 10}


def take_over(world: World, first: date, last: date) -> None:
    """Export the files of these days, which the warehouse appends to its rows."""
    for path in FILES:
        query = f"{path}?format=jsonl&created[gte]={first}&created[lt]={last + timedelta(days=1)}&sort=created"
        reply = world.act("GET", query)
        rows = [json.loads(line, parse_float=Decimal) for line in reply.content.splitlines()]
        world.found.setdefault("warehouse", {}).setdefault(path, []).extend(rows)


def compare_with_records(world: World, day: date) -> None:
    """Run the service's own checks: reports against decisions, statements against the ledger."""
    for command in ("rebuild_usage", "close_statements"):
        try:
            told, _ = world.run(command, "--check")
            found: Any = told["differences"]
        except AssertionError as error:  # the command ended with another status than 0
            found = str(error)
        world.diary.promise("the nightly job", f"{command} --check on {day} finds nothing", [], found)


def import_items(world: World, day: date) -> None:
    """Import the content system's file: forty changed titles, two new items, and one invalid line."""
    first = day.toordinal() % (publisher.ITEMS - 40)
    rows: list[dict[str, Any]] = [
        {"externalId": f"item-{first + n:04}", "title": f"Story {first + n:04}, revised on {day}"} for n in range(40)
    ]
    rows += [{"externalId": f"imported-{day}-{n}", "title": f"Imported {n}", "tags": ["imported"]} for n in range(2)]
    file = world.service.directory / f"items-{day}.csv"
    with file.open("w", newline="") as output:
        writer = csv.DictWriter(output, ["externalId", "title", "tags"])
        writer.writeheader()
        writer.writerows({**row, "tags": ";".join(row.get("tags", []))} for row in rows)
        writer.writerow({"externalId": "too-long", "title": "x" * 501})
    told, reply = world.run("import_content", str(file), "--account", world.account)
    outcome = (told["created"], told["updated"], told["failed"])
    world.diary.promise("the nightly job", f"the import of {day} says what it did", (2, 40, 1), outcome)
    gone = {name for name, known in world.diary.items.items() if known.latest.get("deleted")}
    for row in rows:
        assert row["externalId"] not in gone
        if row["externalId"].startswith("imported"):
            [made] = world.get("/v1/content", externalId=row["externalId"])["data"]
            catalogue.note(world, row, made["id"], reply, "command")
        else:
            catalogue.note(world, row, world.ids[row["externalId"]], reply, "command")
