"""Acceptance of the archive (docs/guides/archive.md): copying decisions to it, and reading them there by the API.

    python -m benchmarks.archive [--accounts 3] [--months 14] [--events 5000000] [--kills 20]

The decisions have many requesters, items, reasons and facts. While live checks run, `archive_events` is killed again
and again, completes, and then copies all anew: every account's months in the archive must have as many decisions as
the database, after each kill all of them or none. Then the months are removed from the database. Lists with all
filters, decisions by id, files and simulations of each account must have the same replies before the archiving and
after the removal. A page across the horizon must take less than two seconds, and each live check must be recorded
once.
"""

import random
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg

from benchmarks.archive_reading import FILL, Everything, LiveChecks, readers_of
from benchmarks.harness import expect, workplace
from benchmarks.load import children_seconds
from benchmarks.log_import import MOST_SECONDS, peak_of_children
from benchmarks.ours import Installation, installed
from benchmarks.report import parser, publish
from tests.archived import newest_table, on_disk

ACROSS_SECONDS = 2  # at most, a page across the horizon
LONGEST_RUN = 60.0  # seconds until a kill, at most
TABLE_SIZE = """
SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'analytics_accessevent'::regclass
"""
CLOSED = """
SELECT account_id::text, to_char(created AT TIME ZONE 'UTC', 'YYYY-MM'), count(*) FROM analytics_accessevent
WHERE created < date_trunc('month', now() AT TIME ZONE 'UTC') GROUP BY 1, 2
"""


def closed_months(made: Installation) -> tuple[Counter[int], float]:
    """Return how many closed months have how many decisions, and the bytes of a decision."""
    with psycopg.connect(made.database, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
        [(size,)] = connection.execute(TABLE_SIZE)
        months = Counter(number for *_, number in connection.execute(CLOSED))
    return months, float(size) / made.rows()


def archived_months(folder: Path) -> Counter[int]:
    """Return the same of the table's newest version. Raises if a month has two files."""
    table = newest_table(on_disk(folder))
    files = [] if table is None else [task.file for task in table.scan().plan_files()]
    months = {(file.partition[0], file.partition[1]) for file in files}
    expect(len(months) == len(files), "each month has one file")
    return Counter(file.record_count for file in files)


def decisions_in(months: Counter[int]) -> int:
    return sum(number * times for number, times in months.items())


def kill_while_archiving(made: Installation, folder: Path, wanted: Counter[int]) -> None:
    command = [made.python, "manage.py", "archive_events", *random.choice([[], ["--anew"]])]
    process = subprocess.Popen(
        command, cwd=made.checkout, env=made.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(random.uniform(1, LONGEST_RUN))
    process.kill()
    process.wait()
    found = archived_months(folder)
    expect(found <= wanted, "after a kill each month is in the archive completely or not at all")


def seconds_of(made: Installation, *options: str) -> tuple[float, float]:
    """Archive. Returns the seconds that it takes, and those of CPU time."""
    begun, cpu = time.perf_counter(), children_seconds()
    made.manage("archive_events", *options, seconds=MOST_SECONDS)
    return time.perf_counter() - begun, children_seconds() - cpu


def say(what: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S} {what}", file=sys.stderr, flush=True)


def main() -> None:
    arguments = parser(__doc__, load=False, repeated=False)
    arguments.set_defaults(seconds=0)
    arguments.add_argument("--accounts", type=int, default=3)
    arguments.add_argument("--months", type=int, default=14)
    arguments.add_argument("--events", type=int, default=5_000_000, help="of all accounts")
    arguments.add_argument("--kills", type=int, default=20)
    options = arguments.parse_args()
    with workplace() as (stack, directory, services):
        folder = directory / "archive"
        made = installed(stack, "archive", directory, services, ARCHIVE_DIR=str(folder))
        now = datetime.now(UTC)
        days = (now - (now.replace(day=1) - timedelta(days=30 * options.months)).replace(day=1)).days
        readers = readers_of(made, options.accounts, now)
        fill = FILL.format(days=days, rows=options.events // options.accounts)
        say(f"makes {options.events:,} decisions")
        made.manage("shell", "--verbosity", "0", "-c", fill, seconds=MOST_SECONDS)
        say("computes the rollups")
        made.manage("rebuild_usage", seconds=MOST_SECONDS)
        wanted, bytes_before = closed_months(made)
        closed = decisions_in(wanted)
        for reader in readers:
            reader.prepare(made, 50)
        live = LiveChecks(readers[0])
        with live.running():
            say("reads everything from PostgreSQL")
            before = Everything.read(readers)
            say(f"kills archive_events {options.kills} times")
            for _ in range(options.kills):
                kill_while_archiving(made, folder, wanted)
            say(f"archives the other {closed - decisions_in(archived_months(folder)):,} decisions")
            made.manage("archive_events", seconds=MOST_SECONDS)
            expect(archived_months(folder) == wanted, f"all {closed:,} decisions of closed months are in the archive")
            say("archives all anew")
            copying, cpu = seconds_of(made, "--anew")
            expect(archived_months(folder) == wanted, "then, too")
            disk = sum(file.stat().st_size for file in folder.rglob("*.*"))
            say("removes what is archived")
            dropping, _ = seconds_of(made, "--drop")
            expect(not closed_months(made)[0], "the closed months are removed from the database")
            say("reads everything from the archive")
            after = Everything.read(readers)
            after.expect_equal(before)
        live.expect_recorded()
        across = after.times["a page across the horizon"]
        expect(across < ACROSS_SECONDS, f"a page across the horizon takes {across:.1f} s")
        reads = "".join(
            f"| {name}, ms | {seconds * 1000:.0f} | {after.times[name] * 1000:.0f} |\n"
            for name, seconds in before.times.items()
        )
        text = (
            f"{closed:,} decisions of closed months of {options.accounts} accounts. The archiving was killed "
            f"{options.kills} times. {sum(map(len, before.replies)):,} replies and a file of {before.rows:,} rows are "
            f"the same before and after. {len(live.ids):,} live checks meanwhile, the slowest took "
            f"{live.slowest:.1f} s. Peak memory {peak_of_children():.0f} MiB:\n\n"
            "| | |\n|---|---:|\n"
            f"| decisions/s, verified | {closed / copying:,.0f} |\n"
            f"| µs CPU a decision | {cpu * 1_000_000 / closed:.0f} |\n"
            f"| verifying again and removing, s | {dropping:.0f} |\n"
            f"| bytes a decision in the archive | {disk / closed:.0f} |\n"
            f"| in PostgreSQL, with indexes | {bytes_before:.0f} |\n\n"
            "Requests to the API before the decisions are removed from PostgreSQL, and after:\n\n"
            f"| | PostgreSQL | archive |\n|---|---:|---:|\n{reads}"
            f"| rows/s of a file | {before.rows / before.seconds:,.0f} | {after.rows / after.seconds:,.0f} |"
        )
        publish("archive", text, {"disk": disk, "before": before.times, "after": after.times}, options)


if __name__ == "__main__":
    main()
