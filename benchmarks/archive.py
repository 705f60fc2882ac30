"""Copying a year of decisions to the archive (docs/guides/archive.md), running it again, and reading it by the API.

    python -m benchmarks.archive [--events 5000000]

The decisions are copies of one with typical facts, spread over a year and all items. Every month in the archive must
have as many as the database. Then they are removed from the database, and the same requests must have the same
replies.
"""

import time
from datetime import UTC, datetime, timedelta
from statistics import median

from benchmarks.growth_data import Data
from benchmarks.harness import expect, workplace
from benchmarks.load import children_seconds
from benchmarks.log_import import MOST_SECONDS, peak_of_children
from benchmarks.ours import ALLOW_LICENSED, LICENSED, UNLICENSED, Installation, installed
from benchmarks.report import parser, publish
from tests.archived import newest_table

TABLE_SIZE = """
SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'analytics_accessevent'::regclass
"""
CLOSED = "SELECT count(*) FROM analytics_accessevent WHERE created < date_trunc('month', now() AT TIME ZONE 'UTC')"
LIST = "/v1/access/decisions"
REPEATS = 5


def requests_of(made: Installation, item: str) -> dict[str, str]:
    """Return requests that read old decisions, by what they are."""
    horizon = datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    oldest = made.client.get(LIST, params={"sort": "created", "limit": 1}).json()["data"][0]["id"]
    across = f"{horizon + timedelta(minutes=5):%Y-%m-%dT%H:%M:%SZ}"
    page = f"{LIST}?limit=100&count=none"
    return {
        "an old decision by id": f"{LIST}/{oldest}",
        "a page across the horizon": f"{page}&created[lte]={across}",
        "the oldest page": f"{page}&sort=created",
        "the oldest page of an item": f"{page}&sort=created&contentId={item}",
        "a page with a filter that nothing passes": f"{page}&reason=no_policy",
        "the same, a filter by a fact": f"{page}&referrer=nowhere.example",
    }


def read_all(made: Installation, requests: dict[str, str]) -> tuple[dict[str, float], list[bytes]]:
    """Return the seconds that each request takes, and the replies."""
    seconds, replies = {}, []
    for name, path in requests.items():
        times = []
        for _ in range(REPEATS):
            begun = time.perf_counter()
            reply = made.client.get(path)
            times.append(time.perf_counter() - begun)
            expect(reply.status_code == 200, f"{path} answers {reply.status_code}")
        seconds[name] = median(times)
        replies.append(reply.content)
    return seconds, replies


def rows_exported(made: Installation, seconds: float) -> float:
    """Return how many rows a second a file of all decisions has, oldest first, during its first seconds."""
    begun, rows = time.perf_counter(), 0
    with made.client.stream("GET", LIST, params={"format": "jsonl", "sort": "created"}) as reply:
        for chunk in reply.iter_bytes():
            rows += chunk.count(b"\n")
            if time.perf_counter() > begun + seconds:
                break
    return rows / (time.perf_counter() - begun)


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
        requests = requests_of(made, item)
        (before, wanted), exported_before = read_all(made, requests), rows_exported(made, 5)
        made.manage("archive_events", "--drop", seconds=MOST_SECONDS)
        expect(made.rows() == options.events + 2 - closed, "the closed months are removed from the database")
        (after, replies), exported_after = read_all(made, requests), rows_exported(made, 5)
        expect(replies == wanted, "the archive has the same decisions")
        reads = "".join(
            f"| {name}, ms | {before[name] * 1000:.0f} | {after[name] * 1000:.0f} |\n" for name in requests
        )
        text = (
            f"{closed:,} decisions of closed months; peak memory {peak_of_children():.0f} MiB:\n\n"
            "| | |\n|---|---:|\n"
            f"| decisions/s, verified | {closed / seconds:,.0f} |\n"
            f"| µs CPU a decision | {cpu * 1_000_000 / closed:.0f} |\n"
            f"| running it again, s | {again:.1f} |\n"
            f"| bytes a decision in the archive | {disk / closed:.0f} |\n"
            f"| in PostgreSQL, with indexes | {size / (options.events + 2):.0f} |\n\n"
            "Requests to the API before the decisions are removed from PostgreSQL, and after:\n\n"
            f"| | PostgreSQL | archive |\n|---|---:|---:|\n{reads}"
            f"| rows/s of a file | {exported_before:,.0f} | {exported_after:,.0f} |"
        )
        publish("archive", text, {"times": times, "disk": disk, "before": before, "after": after}, options)


if __name__ == "__main__":
    main()
