"""Checks during an import into their account: before it, while it creates and then changes items, and after it.

    python -m benchmarks.imports
    python -m benchmarks.imports --ways import

Checks use random other items of the account. The rows come by `manage.py import_content`, in a separate process, and
by bulk requests of 1,000 rows, which the server processes beside the checks. wrk runs repeatedly until the last row is
in; the run during which the import ended is discarded.
"""

import csv
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import expect, workplace
from benchmarks.load import Side, processor_seconds
from benchmarks.mixed import prepared
from benchmarks.ours import ALLOW_LICENSED, LICENSED, Installation, installed
from benchmarks.report import parser, publish, runs_of

BULK_ROWS = 1_000  # of a bulk request
WAYS = {"import": "by an import", "bulk": "by bulk requests"}


@dataclass
class Beside(Side):
    """Results of checks during other work, which wrote `rows` per second and used `cores` cores."""

    rows: float = 0.0
    cores: float = 0.0


class Rows:
    """Items that are created at first, and updated by every further way of writing."""

    def __init__(self, made: Installation, count: int) -> None:
        self.made, self.count, self.turn = made, count, 0
        self.policy = made.policy(ALLOW_LICENSED)

    def next(self) -> list[dict[str, str]]:
        """Return all items with a new title."""
        self.turn += 1
        return [
            {"externalId": f"imported-{number}", "title": f"Item {number}, edition {self.turn}"}
            for number in range(self.count)
        ]

    @contextmanager
    def imported(self) -> Iterator[tuple[Callable[[], bool], int]]:
        """Run the import command; yield whether it still runs, and its process."""
        path = self.made.directory / f"items-{self.turn}.csv"
        with path.open("w", newline="") as file:
            rows = csv.DictWriter(file, ["externalId", "title"])
            rows.writeheader()
            rows.writerows(self.next())
        command = [sys.executable, "manage.py", "import_content", str(path), "--account", self.made.account]
        process = subprocess.Popen(
            [*command, "--default", f"policyId={self.policy}"],
            cwd=self.made.checkout,
            env=self.made.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield lambda: process.poll() is None, process.pid
            expect(process.wait() == 0, f"the import ends with {process.returncode}")
        finally:
            process.kill()
            process.wait()

    @contextmanager
    def in_bulk(self) -> Iterator[tuple[Callable[[], bool], int]]:
        """Send the rows in bulk requests; yield whether any are left, and that they have no process of their own."""
        answers: list[int] = []

        def send(rows: list[dict[str, str]]) -> None:
            for first in range(0, len(rows), BULK_ROWS):
                some = [{**row, "policyId": self.policy} for row in rows[first : first + BULK_ROWS]]
                reply = self.made.client.post("/v1/content/bulk", json={"items": some})
                answers.append(sum(one["status"] in (200, 201) for one in reply.json().get("data", [])))

        thread = threading.Thread(target=send, args=[self.next()])
        thread.start()
        try:
            yield thread.is_alive, 0
        finally:
            thread.join()
        expect(sum(answers) == self.count, f"{sum(answers):,} of {self.count:,} rows were written in bulk")


def beside(side: Side, name: str, rows: Rows, writing: Any, options: Any) -> Beside:
    """Measure the checks while all rows are written in one of the ways."""
    found = measured_again(side, name)
    with writing() as (is_running, process):
        begun, spent = time.perf_counter(), 0.0
        while is_running():
            run = found.run(options.seconds, options.connections, options.threads)
            if not is_running():
                break
            found.runs.append(run)
            elapsed = time.perf_counter() - begun
            if process:
                spent = processor_seconds([process]) / elapsed
        ended = time.perf_counter()
    expect(bool(found.runs), f"{name} was over before a run of {options.seconds:g} s: take more --rows")
    found.rows, found.cores = rows.count / (ended - begun), spent
    return found


def measured_again(side: Side, name: str) -> Beside:
    return Beside(name, side.url, side.script, side.servers, side.storage)


def alone(side: Side, name: str, options: Any) -> Beside:
    found = measured_again(side, name)
    for _ in range(options.rounds):
        found.runs.append(found.run(options.seconds, options.connections, options.threads))
    return found


def table(sides: list[Beside]) -> str:
    """Return a table of the runs' medians."""
    names = ["beside", "rows/s", "cores of the import", "checks/s", "of the quiet account's", "p50 ms", "p99 ms"]
    names += ["µs CPU a check: server", "µs CPU a check: PostgreSQL + Valkey", "runs", "errors"]
    lines = [names, ["---", *["---:"] * (len(names) - 1)]]
    for side in sides:
        lines.append(
            [
                side.name,
                f"{side.rows:,.0f}" if side.rows else "",
                f"{side.cores:.2f}" if side.cores else "",
                f"{side.middle('rate'):,.0f}",
                f"{side.middle('rate') / sides[0].middle('rate'):.2f}",
                *(f"{side.middle(part):.2f}" for part in ("p50", "p99")),
                *(f"{side.middle(part):.0f}" for part in ("server_cpu", "storage_cpu")),
                str(len(side.runs)),
                str(sum(run.errors for run in side.runs)),
            ]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def expect_current(made: Installation, rows: Rows) -> None:
    """Verify that every imported item has its latest title and can be checked."""
    total = made.client.get("/v1/content", params={"policyId": rows.policy, "limit": 1}).json()["totalCount"]
    expect(total == rows.count, f"{total:,} of {rows.count:,} items are there")
    for number in range(0, rows.count, max(1, rows.count // 50)):
        body = {"externalId": f"imported-{number}", "requester": LICENSED}
        expect(made.post("/v1/access/check", body)["allowed"] is True, f"item {number} is refused")


def main() -> None:
    arguments = parser(__doc__)
    arguments.set_defaults(seconds=2, rounds=3)
    arguments.add_argument("--items", type=int, default=50_000, help="that are checked")
    arguments.add_argument("--rows", type=int, default=50_000, help="that are imported")
    ways = {"nargs": "+", "choices": list(WAYS), "default": ["import", "import", "bulk"]}
    arguments.add_argument("--ways", **ways, help="of writing all rows, in turn: the first creates the items")
    options = arguments.parse_args()
    with workplace() as (stack, directory, services):
        assert services
        made = installed(stack, "ours", directory, services)
        _, script = prepared(made, options.items)
        before = made.rows()
        side = Side("", f"{made.url}/v1/access/check", Path(script), (made.server,), services.pids)
        side.run(options.warmup, options.connections, options.threads)
        rows = Rows(made, options.rows)
        sides = [alone(side, "nothing, before", options)]
        for way in options.ways:
            written = f"{'changed' if rows.turn else 'new'} items {WAYS[way]}"
            sides.append(beside(side, written, rows, rows.imported if way == "import" else rows.in_bulk, options))
        sides.append(alone(side, "nothing, after", options))
        expect_current(made, rows)
        answered = sum(one.answered for one in (side, *sides))
        expect(made.settled_rows() - before >= answered, "decisions are lost")
        text = f"{options.items:,} items that are checked, {options.rows:,} that are written:\n\n{table(sides)}"
        publish("imports", text, runs_of(sides), options)


if __name__ == "__main__":
    main()
