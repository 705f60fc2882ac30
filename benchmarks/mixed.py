"""Checks while the catalogue changes, at 0, 2, 10 and 50 writes per second to the account's items.

    python -m benchmarks.mixed
    python -m benchmarks.mixed --items 1000 1000000

One server serves all sides alternately. Each check uses a random item; each write changes a title by a bulk request
with one row. The last side is a control: as many writes to another account's items.
"""

import argparse
import http.client
import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.growth_data import Data, drawn_script
from benchmarks.harness import expect, workplace
from benchmarks.load import Run, Side, measure, processor_seconds
from benchmarks.ours import ALLOW_LICENSED, CHECK, DENY_ALL, LICENSED, UNLICENSED, Installation, installed
from benchmarks.report import cost_names, costs, load_of, markdown, parser, publish, ratio, runs_of

RATES = (0, 2, 10, 50)  # writes per second
DRAWS = 1_000_000  # checks before the list of drawn items repeats
REQUESTERS = 50


class Writer:
    """Write at a constant rate, on its own connection."""

    def __init__(self, made: Installation, items: Sequence[str], headers: dict[str, str]) -> None:
        self.made, self.items, self.headers = made, items, headers
        self.written = 0
        self.ended = threading.Event()

    @contextmanager
    def at(self, rate: float) -> Iterator[None]:
        """Write within the block; then `written` is the number of writes."""
        self.written = 0
        self.ended.clear()
        thread = threading.Thread(target=self.write, args=[rate])
        if rate:
            thread.start()
        try:
            yield
        finally:
            self.ended.set()
            if rate:
                thread.join()

    def write(self, rate: float) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.made.port, timeout=30)
        due = time.monotonic()
        while not self.ended.wait(max(0.0, due - time.monotonic())):
            due = max(due + 1 / rate, time.monotonic() - 1)  # catches up after delays, up to a second
            row = {"id": random.choice(self.items), "title": f"Title {random.random()}"}
            connection.request("POST", "/v1/content/bulk", json.dumps({"items": [row]}), self.headers)
            reply = connection.getresponse()
            told = json.loads(reply.read())
            expect(reply.status == 200 and told["data"][0]["status"] == 200, f"a write is answered {told}")
            self.written += 1
        connection.close()


@dataclass(frozen=True)
class Mixed(Run):
    """CPU of the checks only; `beside` is the writes' share of server and storage."""

    writes: float = 0.0  # per second
    beside: float = 0.0


@dataclass
class Beside(Side):
    """Checks during a rate of writes per second. `cost`: CPU milliseconds per write, of server and storage."""

    rate: float = 0.0
    writer: Writer | None = None
    cost: tuple[float, float] = (0.0, 0.0)
    runs: list[Run] = field(default_factory=list)

    def run(self, seconds: float, connections: int, threads: int = 1) -> Run:
        assert self.writer
        with self.writer.at(self.rate):
            run = super().run(seconds, connections, threads)
        written = self.writer.written / max(1, round(seconds))
        server, storage = (written * milliseconds * 1_000 / run.rate for milliseconds in self.cost)
        whole = run.server_cpu + run.storage_cpu
        alone = {"server_cpu": run.server_cpu - server, "storage_cpu": run.storage_cpu - storage}
        return Mixed(**{**vars(run), **alone}, writes=written, beside=(server + storage) / whole)


def cost_of_write(made: Installation, writer: Writer, storage: tuple[int, ...], seconds: float) -> tuple[float, float]:
    """Return the CPU milliseconds per write, of server and storage, without checks and idle use."""
    spent: list[list[float]] = []
    for rate in (0, RATES[-1]):
        before = processor_seconds([made.server.pid]), processor_seconds(storage)
        with writer.at(rate):
            time.sleep(seconds)
        after = processor_seconds([made.server.pid]), processor_seconds(storage)
        spent.append([end - begin for begin, end in zip(before, after, strict=True)])
    server, stored = (1_000 * (busy - idle) / writer.written for idle, busy in zip(*spent, strict=True))
    return max(server, 0.0), max(stored, 0.0)


def table(sides: Sequence[Beside]) -> str:
    """Return a table of the runs' medians; ratios are computed per round."""
    quiet = sides[0]
    names = ["writes/s", "to items of", "checks/s", "of the quiet catalogue's", "the writes' CPU counted out"]
    rows = []
    for side in sides:
        runs: list[Any] = side.runs
        freed = replace(side, runs=[replace(run, rate=run.rate / (1 - run.beside)) for run in runs])
        rows.append(
            [
                f"{median(run.writes for run in runs):.1f}",
                side.name.partition(" to ")[2],
                f"{side.middle('rate'):,.0f}",
                ratio(side, quiet),
                "1" if side is quiet else ratio(freed, quiet),
                *costs(side),
            ]
        )
    return markdown([*names, *cost_names("check")], rows, texts=[1])


def prepared(made: Installation, count: int) -> tuple[list[str], Path]:
    """Create items, verify a decision on the first one, and write a script of checks."""
    [item] = made.items(made.policy(ALLOW_LICENSED, DENY_ALL))
    made.expect_decisions(item, LICENSED, UNLICENSED)
    data = Data(made)
    data.items(count, 1)
    requesters = data.requesters(REQUESTERS)
    items = data.content_ids()
    data.close()
    return items, drawn_script(made.directory / "mixed.lua", made, items, requesters, "uniform", DRAWS)


def elsewhere(made: Installation) -> Writer:
    """Create a writer for the items of another account."""
    _, key = made.account_with_key("Another")
    headers = {**made.headers, "Authorization": f"Bearer {key}"}
    rows = [{"title": f"Item {number}"} for number in range(1_000)]
    made_items = made.client.post("/v1/content/bulk", json={"items": rows}, headers=headers).json()["data"]
    return Writer(made, [outcome["content"]["id"] for outcome in made_items], headers)


def measured(made: Installation, count: int, options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """Return the result for a number of items, as text and as runs."""
    assert made.services
    items, script = prepared(made, count)
    before, writer, storage = made.rows(), Writer(made, items, made.headers), made.services.pids
    cost = cost_of_write(made, writer, storage, options.seconds)
    url, server = f"{made.url}{CHECK}", (made.server,)
    writers = [(rate, writer, "the account") for rate in RATES] + [(RATES[-1], elsewhere(made), "another account")]
    sides = [
        Beside(f"{rate}/s to {whose}", url, script, server, storage, rate=rate, writer=each, cost=cost)
        for rate, each, whose in writers
    ]
    measure(sides, **load_of(options))
    whole = replace(sides[0], runs=[])
    whole.answered, whole.cut_off = sum(side.answered for side in sides), sum(side.cut_off for side in sides)
    made.expect_all_stored(whole, before, json.dumps({"contentId": items[0], "requester": LICENSED}))
    spent = f"{cost[0]:.1f} ms CPU of the server and {cost[1]:.1f} ms of PostgreSQL and Valkey"
    runs = {f"{count:,} items, {name}": kept for name, kept in runs_of(sides).items()}
    return f"{count:,} items; a write takes {spent} without checks:\n\n{table(sides)}", runs


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--items", type=int, nargs="+", default=[1_000])
    options = arguments.parse_args()
    texts, results = [], {}
    with workplace() as (stack, directory, services):
        for number, count in enumerate(options.items):
            made = installed(stack, f"size_{number}", directory, services)
            text, runs = measured(made, count, options)
            made.stop()
            texts.append(text)
            results |= runs
        publish("mixed", "\n\n".join(texts), results, options)


if __name__ == "__main__":
    main()
