"""Copying decisions to the archive (docs/guides/archive.md), and reading them there by the API.

    python -m benchmarks.archive [--accounts 3] [--months 14] [--events 5000000]

The decisions have many requesters, items, reasons and facts. All closed months are copied and then removed from the
database. The same requests are timed before the copy and after the removal; a page across the horizon must take less
than two seconds. tests/faults/test_archive.py and tests/analytics/test_archive_reading.py prove that nothing is lost.
"""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import httpx
import psycopg

from benchmarks.harness import expect, workplace
from benchmarks.load import children_seconds
from benchmarks.ours import Installation, installed
from benchmarks.report import parser, publish

LIST = "/v1/access/decisions"
REPEATS = 5
EXPORTED = timedelta(days=90)
MAX_SECONDS = 3_600  # of a command or request
MAX_ACROSS_SECONDS = 2  # of a page across the horizon
FILL = """
from accounts.models import Account
from benchmarks.archive_data import fill_account
for account in Account.objects.order_by("pk"):
    fill_account(account, {rows}, {days})
"""
TABLE_SIZE = """
SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'analytics_accessevent'::regclass
"""
CLOSED = """
SELECT count(*) FROM analytics_accessevent WHERE created < date_trunc('month', now() AT TIME ZONE 'UTC')
"""


def closed_decisions(made: Installation) -> tuple[int, float]:
    """Return the number of decisions in closed months, and the bytes of a decision."""
    with psycopg.connect(made.database, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
        [(size,)] = connection.execute(TABLE_SIZE)
        [(number,)] = connection.execute(CLOSED)
    return number, float(size) / made.rows()


class Reader:
    """A client of one account, which asks about decisions from before `now`."""

    def __init__(self, made: Installation, now: datetime) -> None:
        self.client = httpx.Client(base_url=made.url, headers=made.headers, timeout=MAX_SECONDS)
        self.until = f"{now:%Y-%m-%dT%H:%M:%SZ}"
        self.horizon = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        [self.oldest] = self.get(f"{LIST}?limit=1&sort=created").json()["data"]

    def get(self, path: str) -> httpx.Response:
        reply = self.client.get(path)
        expect(reply.status_code == 200, f"{reply.url} answers {reply.status_code}: {reply.text[:200]}")
        return reply

    def times(self) -> dict[str, float]:
        """Return the seconds that typical requests take."""
        across = f"{self.horizon + timedelta(minutes=5):%Y-%m-%dT%H:%M:%SZ}"
        page = f"{LIST}?limit=100&count=none"
        requests = {
            "an old decision by id": f"{LIST}/{self.oldest['id']}",
            "a page across the horizon": f"{page}&created[lte]={across}",
            "the same with the number of all": f"{LIST}?limit=100&created[lte]={across}",
            "the oldest page": f"{page}&sort=created",
            "the oldest page of an item": f"{page}&sort=created&contentId={self.oldest['contentId']}",
            "a page with a filter that nothing passes": f"{page}&reason=no_policy",
            "the same, a filter by a fact": f"{page}&referrer=nowhere.example",
        }
        return {name: median(self.seconds(path) for _ in range(REPEATS)) for name, path in requests.items()}

    def seconds(self, path: str) -> float:
        begun = time.perf_counter()
        self.get(path)
        return time.perf_counter() - begun

    def rows_per_second(self) -> float:
        """Export the last months as a file."""
        begun = time.perf_counter()
        rows = 0
        since = (self.horizon - EXPORTED).isoformat()
        query = {"format": "jsonl", "created[gte]": since, "created[lt]": self.until}
        with self.client.stream("GET", LIST, params=query) as reply:
            for chunk in reply.iter_bytes():
                rows += chunk.count(b"\n")
        return rows / (time.perf_counter() - begun)


def archive_seconds(made: Installation, *options: str) -> tuple[float, float]:
    """Archive. Returns the seconds that it takes, and those of CPU time."""
    begun = time.perf_counter()
    cpu = children_seconds()
    made.manage("archive_events", *options, seconds=MAX_SECONDS)
    return time.perf_counter() - begun, children_seconds() - cpu


def bytes_below(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.*"))


def main() -> None:
    arguments = parser(__doc__, load=False, repeated=False)
    arguments.set_defaults(seconds=0)
    arguments.add_argument("--accounts", type=int, default=3)
    arguments.add_argument("--months", type=int, default=14)
    arguments.add_argument("--events", type=int, default=5_000_000, help="of all accounts")
    options = arguments.parse_args()
    with workplace() as (stack, directory, services):
        folder = directory / "archive"
        made = installed(stack, "archive", directory, services, ARCHIVE_DIR=str(folder))
        now = datetime.now(UTC)
        days = (now - (now.replace(day=1) - timedelta(days=30 * options.months)).replace(day=1)).days
        for number in range(1, options.accounts):
            made.account_with_key(f"Benchmark {number}")
        fill = FILL.format(days=days, rows=options.events // options.accounts)
        made.manage("shell", "--verbosity", "0", "-c", fill, seconds=MAX_SECONDS)
        made.manage("rebuild_usage", seconds=MAX_SECONDS)
        closed, bytes_before = closed_decisions(made)
        reader = Reader(made, now)
        times_before = reader.times()
        rows_before = reader.rows_per_second()
        copying, cpu = archive_seconds(made)
        disk = bytes_below(folder)
        dropping, _ = archive_seconds(made, "--drop")
        expect(not closed_decisions(made)[0], "the closed months are removed from the database")
        times_after = reader.times()
        rows_after = reader.rows_per_second()
    across = times_after["a page across the horizon"]
    expect(across < MAX_ACROSS_SECONDS, f"a page across the horizon takes {across:.1f} s")
    reads = "".join(
        f"| {name}, ms | {seconds * 1000:.0f} | {times_after[name] * 1000:.0f} |\n"
        for name, seconds in times_before.items()
    )
    text = (
        f"{closed:,} decisions of closed months of {options.accounts} accounts:\n\n"
        "| | |\n|---|---:|\n"
        f"| decisions/s, verified | {closed / copying:,.0f} |\n"
        f"| µs CPU a decision | {cpu * 1_000_000 / closed:.0f} |\n"
        f"| verifying again and removing, s | {dropping:.0f} |\n"
        f"| bytes a decision in the archive | {disk / closed:.0f} |\n"
        f"| in PostgreSQL, with indexes | {bytes_before:.0f} |\n\n"
        "Requests to the API before the decisions are removed from PostgreSQL, and after:\n\n"
        f"| | PostgreSQL | archive |\n|---|---:|---:|\n{reads}"
        f"| rows/s of a file | {rows_before:,.0f} | {rows_after:,.0f} |"
    )
    publish("archive", text, {"disk": disk, "before": times_before, "after": times_after}, options)


if __name__ == "__main__":
    main()
