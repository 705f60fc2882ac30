"""A single access check, against Cerbos with its decision log in a file.

    python -m benchmarks.check [--cerbos PATH] [--load publisher] [--curve | --open]

All sides run alternately, under the same load by wrk, which shares the machine's cores with them. A second table shows
light load: one connection, compared with single-row INSERT commits on the same PostgreSQL.

With `--curve` the table shows the capacity from 1 to 512 connections, with one worker and with two. With `--open`
requests arrive at random times, whether or not earlier ones have been answered.
"""

import json
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psycopg

from benchmarks.cerbos import binary, cerbos_side
from benchmarks.harness import workplace
from benchmarks.load import Run, Side, measure, processor_seconds
from benchmarks.ours import LICENSED, installed
from benchmarks.report import load_of, markdown, parser, publish, runs_of, table
from benchmarks.traffic import LOADS, MIXED, traffic_side

CONNECTIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the capacity
OPEN_CONNECTIONS = 256  # of the open loop: enough that hardly any arrival waits for one


@dataclass
class Commits(Side):
    """Single-row INSERTs with a commit each, by one client: the minimum cost of a durable answer."""

    def run(self, seconds: float, connections: int = 1, threads: int = 1) -> Run:
        spent: list[float] = []
        row = ("org_acme", json.dumps(LICENSED))
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS commits (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
                " requester text, facts jsonb)"
            )
            before, began = processor_seconds(self.storage), time.perf_counter()
            while (at := time.perf_counter()) < began + seconds:
                connection.execute("INSERT INTO commits (requester, facts) VALUES (%s, %s)", row)
                spent.append(time.perf_counter() - at)
            cpu = (processor_seconds(self.storage) - before) / len(spent) * 1e6
        p99 = quantiles(spent, n=100)[98]
        return Run(len(spent) / sum(spent), median(spent) * 1000, p99 * 1000, 0, storage_cpu=cpu)


def curve_table(sides: Sequence[Side], options: Namespace) -> tuple[str, dict[str, Any]]:
    """Measure from 1 to 512 connections. Return the table, and the runs."""
    names = ("connections", "side", "checks/s", "p50 ms", "p99 ms", "µs CPU: server", "storage", "bytes of WAL")
    rows, results = [], {}
    for connections in CONNECTIONS:
        measure(sides, **{**load_of(options), "connections": connections})
        for side in sides:
            figures = [f"{side.middle('rate'):,.0f}", f"{side.middle('p50'):.2f}", f"{side.middle('p99'):.2f}"]
            figures += [f"{side.middle(part):.0f}" for part in ("server_cpu", "storage_cpu", "wal")]
            rows.append([str(connections), side.name, *figures])
        results[str(connections)] = runs_of(sides)
        for side in sides:
            side.runs = []
    return markdown(names, rows, texts=[0, 1]), results


def open_table(sides: Sequence[Side], options: Namespace) -> tuple[str, dict[str, Any]]:
    """Measure arrivals at random times, at shares of what each side serves in a closed loop."""
    measure(sides, **load_of(options))
    names = ("side", "arrivals/s", "of its capacity", "p50 ms", "p99 ms", "errors")
    rows: list[list[str]] = []
    capacities, results = {side.name: side.middle("rate") for side in sides}, {}
    for share in SHARES:
        for side in sides:
            rate = capacities[side.name] * share
            side.runs = [side.run_open(rate, options.seconds, OPEN_CONNECTIONS) for _ in range(options.rounds)]
            errors = sum(run.errors for run in side.runs)
            times = [f"{side.middle('p50'):.2f}", f"{side.middle('p99'):.2f}"]
            rows.append([side.name, f"{rate:,.0f}", f"{share:.0%}", *times, str(errors)])
        results[f"{share:.0%}"] = runs_of(sides)
    return markdown(names, rows), results


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--cerbos", metavar="PATH")
    arguments.add_argument("--workers", type=int, nargs="+", default=None, help="one side of ours for each number")
    arguments.add_argument("--load", choices=LOADS, default=MIXED, help="of benchmarks.traffic")
    how = arguments.add_mutually_exclusive_group()
    how.add_argument("--curve", action="store_true", help="1 to 512 connections, with 1 and 2 workers")
    how.add_argument("--open", action="store_true", help="arrivals at random times, at 10 to 90 %% of capacity")
    options = arguments.parse_args()
    if options.readme and (options.curve or options.open):
        arguments.error("--readme takes neither --curve nor --open: README has no place for them.")
    command = binary(options.cerbos)
    with workplace() as (stack, directory, services):
        assert services
        ours = [
            traffic_side(
                installed(stack, f"ours_{count}", directory, services, workers=count),
                f"this service, {count} worker{'s' * (count > 1)}",
                load=options.load,
            )
            for count in options.workers or ([1, 2] if options.curve else [1])
        ]
        peer = cerbos_side(stack, "Cerbos, file log", directory, command, load=options.load)
        sides = [*(one.side for one in ours), peer]
        if options.curve or options.open:
            text, results = (curve_table if options.curve else open_table)(sides, options)
            for one in ours:
                one.expect_all_stored()
            publish("check", text, results, options)
            return
        tuned = cerbos_side(stack, "Cerbos, file log, GOGC=400", directory, command, load=options.load, GOGC="400")
        sides.append(tuned)
        measure(sides, **load_of(options))
        text = f"{options.connections} connections:\n\n{table(sides, peer, 'check')}"
        results = {"loaded": runs_of(sides)}

        light = [ours[0].side, peer, tuned, Commits("one INSERT and its commit", services.postgres.url, Path(), ())]
        light[-1].storage = services.pids
        for side in light:
            side.runs = []
        measure(light, **{**load_of(options), "connections": 1})
        for one in ours:
            one.expect_all_stored()
        more = light[0].middle("p50") - light[-1].middle("p50")
        text += f"\n\nOne connection; this service answers {more:.2f} ms after PostgreSQL's own commit (medians):\n\n"
        text += table(light, peer, "check")
        publish("check", text, {**results, "light": runs_of(light)}, options)


if __name__ == "__main__":
    main()
