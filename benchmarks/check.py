"""A single access check, against Cerbos with its decision log in a file.

    python -m benchmarks.check [--cerbos PATH]

All sides run alternately, under the same load by wrk, which shares the machine's cores with them. A second table shows
light load: one connection, compared with single-row INSERT commits on the same PostgreSQL.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

import psycopg

from benchmarks.cerbos import binary, cerbos_side
from benchmarks.harness import workplace
from benchmarks.load import Run, Side, measure, processor_seconds
from benchmarks.ours import LICENSED, installed
from benchmarks.report import load_of, parser, publish, runs_of, table
from benchmarks.traffic import traffic_side


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


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--cerbos", metavar="PATH")
    arguments.add_argument("--workers", type=int, nargs="+", default=[1], help="one side of ours for each number")
    options = arguments.parse_args()
    command = binary(options.cerbos)
    with workplace() as (stack, directory, services):
        assert services
        peer = cerbos_side(stack, "Cerbos, file log", directory, command)
        tuned = cerbos_side(stack, "Cerbos, file log, GOGC=400", directory, command, GOGC="400")
        ours = [
            traffic_side(
                installed(stack, f"ours_{count}", directory, services, workers=count),
                f"this service, {count} worker{'s' * (count > 1)}",
            )
            for count in options.workers
        ]
        sides = [*(one.side for one in ours), peer, tuned]
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
