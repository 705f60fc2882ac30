"""Items registered in bulk, against one by one: rows per second, by one client that waits for each reply.

    python -m benchmarks.bulk
    python -m benchmarks.bulk --sqlite
    python -m benchmarks.bulk --file ITEMS.jsonl.gz     # also load its items, twice

Each round registers new items both ways, then checks that the service lists exactly these. With --file all its rows
are sent twice, in requests of 1,000: the first time each row is created, the second time none.
"""

import gzip
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness import expect, workplace
from benchmarks.ours import ALLOW_LICENSED, Installation, installed
from benchmarks.report import parser, publish

ROWS = 1_000  # of a bulk request
PATH = "/v1/content/bulk"
COLUMNS = {"externalId": ("externalId", "acno", "id"), "title": ("title",), "source": ("source", "url")}


def made_up(round_: str, count: int, policy: str) -> list[dict[str, Any]]:
    """Return realistic items of about 400 bytes."""
    return [
        {
            "externalId": f"{round_}-{number}",
            "title": f"An article about markets, number {number}",
            "type": "article",
            "source": f"https://publisher.example/{round_}/articles/{number}",
            "policyId": policy,
            "metadata": {"author": "Ada Byron", "publishedAt": "2026-01-31", "category": "finance", "wordCount": 1200},
            "tags": ["markets", "2026"],
        }
        for number in range(count)
    ]


def one_by_one(made: Installation, rows: list[dict[str, Any]]) -> float:
    """Register items one by one; return rows per second."""
    began = time.perf_counter()
    for row in rows:
        made.post("/v1/content", row)
    return len(rows) / (time.perf_counter() - began)


def in_bulk(made: Installation, rows: list[dict[str, Any]], status: int) -> float:
    """Register items in bulk; return rows per second. Each row must get `status`."""
    began = time.perf_counter()
    for first in range(0, len(rows), ROWS):
        some = rows[first : first + ROWS]
        reply = made.post(PATH, {"items": some})
        statuses = Counter(outcome["status"] for outcome in reply["data"])
        expect(statuses == {status: len(some)}, f"{made.name} answers {statuses} instead of {status}s")
        ids = [outcome["content"]["externalId"] for outcome in reply["data"]]
        expect(ids == [row["externalId"] for row in some], f"{made.name} answers in another order")
    return len(rows) / (time.perf_counter() - began)


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """Return the items of a JSON Lines file: id, title, URL, and all other texts as metadata."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for values in map(json.loads, lines):
            row = {
                name: next(values[one] for one in columns if one in values)
                for name, columns in COLUMNS.items()
                if any(values.get(one) for one in columns)
            }
            row["title"] = row["title"][:500]
            further = {name: value for name, value in values.items() if isinstance(value, str) and value}
            taken = {column for columns in COLUMNS.values() for column in columns}
            row["metadata"] = {name: value[:500] for name, value in further.items() if name not in taken}
            yield row


def load_file(made: Installation, path: Path) -> str:
    rows = list(rows_of(path))
    before = made.client.get("/v1/content").json()["totalCount"]
    rates = [in_bulk(made, rows, status) for status in (201, 200)]
    total = made.client.get("/v1/content").json()["totalCount"] - before
    expect(total == len(rows), f"{made.name} lists {total:,} of {len(rows):,} items")
    return (
        f"{len(rows):,} rows of {path.name}: {rates[0]:,.0f} rows/s created, {rates[1]:,.0f} rows/s again, unchanged"
    )


def main() -> None:
    arguments = parser(__doc__, load=False)
    arguments.set_defaults(seconds=0)
    arguments.add_argument(
        "--rows", type=int, default=5_000, help="in bulk, in each round; one by one a tenth of them"
    )
    arguments.add_argument("--sqlite", action="store_true")
    arguments.add_argument("--file", type=Path, help="JSON Lines, plain or gzipped")
    options = arguments.parse_args()
    with workplace(storage=not options.sqlite) as (stack, directory, services):
        made = installed(stack, "ours", directory, services)
        policy = made.policy(ALLOW_LICENSED)
        singles, bulks = [], []
        one_by_one(made, made_up("warm", 50, policy))
        in_bulk(made, made_up("warm-up", 1_000, policy), 201)
        for number in range(options.rounds):
            singles.append(one_by_one(made, made_up(f"single-{number}", options.rows // 10, policy)))
            bulks.append(in_bulk(made, made_up(f"bulk-{number}", options.rows, policy), 201))
        listed = made.client.get("/v1/content").json()["totalCount"]
        sent = 1_050 + options.rounds * (options.rows // 10 + options.rows)
        expect(listed == sent, f"{made.name} lists {listed:,} of {sent:,} items")
        ratios = [bulk / single for bulk, single in zip(bulks, singles, strict=True)]
        text = "\n".join(
            [
                "| way | rows/s | times the reference |",
                "| --- | ---: | ---: |",
                f"| `POST /v1/content`, one by one | {median(singles):,.0f} | 1 |",
                f"| `POST {PATH}`, {ROWS:,} a request | {median(bulks):,.0f} | "
                f"{median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f}) |",
            ]
        )
        if options.file:
            text += f"\n\n{load_file(made, options.file)}."
        publish("bulk", text, {"one by one": singles, "in bulk": bulks}, options)


if __name__ == "__main__":
    main()
