"""Copying a year of decisions to the archive (docs/guides/archive.md), and running it again.

    python -m benchmarks.archive [--events 5000000]

The decisions are copies of one with typical facts, spread over a year and all items. Every month in the archive must
have as many as the database.
"""

import time

from benchmarks.growth_data import Data
from benchmarks.harness import expect, workplace
from benchmarks.load import children_seconds
from benchmarks.log_import import MOST_SECONDS, peak_of_children
from benchmarks.ours import ALLOW_LICENSED, LICENSED, UNLICENSED, installed
from benchmarks.report import parser, publish
from tests.archived import newest_table

TABLE_SIZE = """
SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'analytics_accessevent'::regclass
"""
CLOSED = "SELECT count(*) FROM analytics_accessevent WHERE created < date_trunc('month', now() AT TIME ZONE 'UTC')"


def main() -> None:
    arguments = parser(__doc__, load=False)
    arguments.set_defaults(rounds=1, seconds=0)
    arguments.add_argument("--events", type=int, default=5_000_000)
    options = arguments.parse_args()
    with workplace() as (stack, directory, services):
        folder = directory / "archive"
        made = installed(stack, "archive", directory, services, ARCHIVE_DIR=str(folder))
        policy = made.policy({**ALLOW_LICENSED, "priority": 2})
        [item] = made.items(policy)
        made.expect_decisions(item, LICENSED, UNLICENSED)
        data = Data(made)
        data.items(1_000, 1)
        data.events(options.events)
        [(size,)] = data.connection.execute(TABLE_SIZE)
        [(closed,)] = data.connection.execute(CLOSED)
        data.close()
        times = []
        for _ in range(2):
            begun, cpu = time.perf_counter(), children_seconds()
            made.manage("archive_events", "--json", seconds=MOST_SECONDS)
            times.append((time.perf_counter() - begun, children_seconds() - cpu))
            table = newest_table(folder)
            rows = table.scan().count() if table else 0
            expect(rows == closed, f"all {closed:,} decisions of closed months are in the archive")
        disk = sum(file.stat().st_size for file in folder.rglob("*.*"))
        (seconds, cpu), (again, _) = times
        text = (
            f"{closed:,} decisions of closed months; peak memory {peak_of_children():.0f} MiB:\n\n"
            "| | |\n|---|---:|\n"
            f"| decisions/s, verified | {closed / seconds:,.0f} |\n"
            f"| µs CPU a decision | {cpu * 1_000_000 / closed:.0f} |\n"
            f"| running it again, s | {again:.1f} |\n"
            f"| bytes a decision in the archive | {disk / closed:.0f} |\n"
            f"| in PostgreSQL, with indexes | {size / (options.events + 2):.0f} |"
        )
        publish("archive", text, {"times": times, "disk": disk}, options)


if __name__ == "__main__":
    main()
