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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from statistics import median
from threading import Event, Thread
from typing import Any, NamedTuple

import httpx
import orjson
import psycopg
from pyiceberg.table import StaticTable

from benchmarks.harness import expect, workplace
from benchmarks.load import children_seconds
from benchmarks.log_import import MOST_SECONDS, peak_of_children
from benchmarks.ours import ALLOW_LICENSED, LICENSED, Installation, installed
from benchmarks.report import parser, publish
from kit.values import ids

LIST = "/v1/access/decisions"
REPEATS = 5
FILES = 4  # items whose decisions are exported
SIMULATED, EXPORTED = timedelta(days=90), timedelta(days=90)
CHECKS_PER_SECOND = 20
FILL = """
from accounts.models import Account
from benchmarks.archive_data import fill_account
for account in Account.objects.order_by("pk"):
    fill_account(account, {rows}, {days})
"""
ACROSS_SECONDS = 2  # at most, a page across the horizon
LONGEST_RUN = 60.0  # seconds until a kill, at most
TABLE_SIZE = """
SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'analytics_accessevent'::regclass
"""
CLOSED = """
SELECT account_id::text, to_char(created AT TIME ZONE 'UTC', 'YYYY-MM'), count(*) FROM analytics_accessevent
WHERE created < date_trunc('month', now() AT TIME ZONE 'UTC') GROUP BY 1, 2
"""
IDS = """
SELECT id FROM analytics_accessevent TABLESAMPLE SYSTEM (%s) WHERE account_id = %s
  AND created < date_trunc('month', now() AT TIME ZONE 'UTC') LIMIT %s
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
    versions = sorted(path for path in folder.rglob("*.metadata.json") if not path.name.startswith("v"))
    if not versions:
        return Counter()
    table = StaticTable.from_metadata(f"file://{versions[-1]}")
    files = [task.file for task in table.scan().plan_files()]
    months = {(file.partition[0], file.partition[1]) for file in files}
    expect(len(months) == len(files), "each month has one file")
    return Counter(file.record_count for file in files)


class Reader:
    """A client of one account, and what it asks about decisions from before `now`."""

    def __init__(self, made: Installation, account: str, key: str, now: datetime) -> None:
        self.account = account
        headers = {"Authorization": f"Bearer {key}"}
        self.client = httpx.Client(base_url=made.url, headers=headers, timeout=MOST_SECONDS)
        self.now = f"{now:%Y-%m-%dT%H:%M:%SZ}"
        self.horizon = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)

    def get(self, path: str, **query: Any) -> httpx.Response:
        reply = self.client.get(path, params=query)
        expect(reply.status_code == 200, f"{reply.url} answers {reply.status_code}: {reply.text[:200]}")
        return reply

    def prepare(self, made: Installation, sampled: int) -> None:
        """Choose values of filters, and ids."""
        [first] = self.get(LIST, limit=1, sort="created").json()["data"]
        self.item, self.policy, name = first["contentId"], first["policyId"], first["requester"]["id"]
        [policy] = {item["policyId"] for item in self.get("/v1/content", limit=100).json()["data"]}
        self.simulated = policy
        self.filters: list[dict[str, Any]] = [
            {},
            {"contentId": self.item},
            {"contentId[ne]": self.item},
            {"requesterId": name},
            {"requesterId": name, "allowed": "false"},
            {"policyId": self.policy},
            {"policyId[exists]": "false"},
            {"allowed": "true"},
            {"reason": "no_license"},
            {"reason": "rate_limit_exceeded"},
            {"reason": "no_policy"},
            {"url": "https://example.com/7"},
            {"url[prefix]": "https://example.com/rare"},
            {"identifiedBy": "user_agent"},
            {"referrer": "rare.example", "allowed": "false"},
            {"referrer": "nowhere.example"},
        ]
        with psycopg.connect(made.database) as connection:
            key = ids.decode("acc", self.account)
            assert key
            found = connection.execute(IDS, [5, key.hex(), sampled]).fetchall()
        self.ids = [ids.encode("dec", one.bytes) for (one,) in found]
        expect(len(self.ids) > 0, "there are old decisions")

    def digests(self) -> Iterator[tuple[str, str]]:
        """Yield all requests, and the digests of their replies."""
        for id in self.ids:
            yield id, digest(self.get(f"{LIST}/{id}").content)
        until = {"created[lt]": self.now}
        for sort, counting in (("created", "none"), ("-created", "exact")):
            for filters in self.filters:
                page = self.get(LIST, **until, **filters, sort=sort, limit=100, count=counting)
                yield str(page.url), digest(page.content)
        yield "pages across the horizon", digest(b"".join(self.walk(20)))
        items = [one["id"] for one in self.get("/v1/content", limit=FILES).json()["data"]]
        for item, form in zip(items, ["csv", "jsonl"] * FILES, strict=False):
            yield f"file of {item}", digest(self.get(LIST, **until, contentId=item, format=form).content)
        rule = {**ALLOW_LICENSED, "rateLimit": {"requests": 5, "period": "day"}}
        for back in (0, 60, 300):  # days
            end = min(self.horizon + timedelta(days=10), datetime.now(UTC)) - timedelta(days=back)
            window = {"startDate": f"{end - SIMULATED:%Y-%m-%d}", "endDate": f"{end:%Y-%m-%dT%H:%M:%SZ}"}
            reply = self.client.post(f"/v1/policies/{self.simulated}/simulate", json={"rules": [rule], **window})
            expect(reply.status_code == 200, f"a simulation answers {reply.status_code}: {reply.text}")
            yield f"simulation until {end}", digest(reply.content)

    def walk(self, pages: int) -> Iterator[bytes]:
        """Yield pages whose middle is at the horizon."""
        [newer] = self.get(LIST, **{"created[gte]": self.horizon.isoformat()}, sort="created", limit=1).json()["data"]
        query: dict[str, Any] = {"created[lte]": newer["created"], "count": "none", "limit": 25}
        for _ in range(pages):
            page = self.get(LIST, **query)
            yield page.content
            query["cursor"] = page.json()["nextCursor"]

    def long_file(self) -> tuple[int, float, str]:
        """Export the last months. Returns the number of rows, the seconds, and a digest."""
        begun, rows, hashed = time.perf_counter(), 0, sha256()
        since = self.horizon - EXPORTED
        query = {"format": "jsonl", "created[gte]": since.isoformat(), "created[lt]": self.now}
        with self.client.stream("GET", LIST, params=query) as reply:
            for chunk in reply.iter_bytes():
                rows += chunk.count(b"\n")
                hashed.update(chunk)
        return rows, time.perf_counter() - begun, hashed.hexdigest()

    def times(self) -> dict[str, float]:
        """Return the seconds that typical requests take."""
        across = f"{self.horizon + timedelta(minutes=5):%Y-%m-%dT%H:%M:%SZ}"
        page = f"{LIST}?limit=100&count=none"
        requests = {
            "an old decision by id": f"{LIST}/{self.ids[0]}",
            "a page across the horizon": f"{page}&created[lte]={across}",
            "the same with the number of all": f"{LIST}?limit=100&created[lte]={across}",
            "the oldest page": f"{page}&sort=created",
            "the oldest page of an item": f"{page}&sort=created&contentId={self.item}",
            "a page with a filter that nothing passes": f"{page}&reason=no_policy",
            "the same, a filter by a fact": f"{page}&referrer=nowhere.example",
        }
        return {name: median(self.seconds(path) for _ in range(REPEATS)) for name, path in requests.items()}

    def seconds(self, path: str) -> float:
        begun = time.perf_counter()
        self.get(path)
        return time.perf_counter() - begun


class Everything(NamedTuple):
    """Digests of all replies to each account. `times` (in seconds) and the file are the first account's."""

    replies: list[dict[str, str]]
    times: dict[str, float]
    rows: int
    seconds: float
    file: str

    @classmethod
    def read(cls, readers: Sequence[Reader]) -> "Everything":
        replies = [dict(reader.digests()) for reader in readers]
        return cls(replies, readers[0].times(), *readers[0].long_file())

    def expect_equal(self, other: "Everything") -> None:
        for found, expected in zip(self.replies, other.replies, strict=True):
            for request, reply in found.items():
                expect(reply == expected[request], f"{request} has the same reply")
        expect(self.file == other.file, "a long file is the same")


def digest(reply: bytes) -> str:
    return sha256(reply).hexdigest()


def create_readers(made: Installation, accounts: int, now: datetime) -> list[Reader]:
    """Create further accounts. Returns a reader of each."""
    readers = [Reader(made, made.account, made.headers["Authorization"].removeprefix("Bearer "), now)]
    for number in range(1, accounts):
        readers.append(Reader(made, *made.account_with_key(f"Benchmark {number}"), now))
    return readers


class LiveChecks:
    """A client that checks access all the time, and keeps the ids of its decisions."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.ids, self.slowest = reader, list[str](), 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        ended = Event()
        thread = Thread(target=self.check, args=[ended])
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def check(self, ended: Event) -> None:
        body = {"contentId": self.reader.item, "requester": LICENSED}
        with httpx.Client(base_url=self.reader.client.base_url, headers=self.reader.client.headers) as client:
            while not ended.wait(random.expovariate(CHECKS_PER_SECOND)):
                begun = time.perf_counter()
                reply = client.post("/v1/access/check", json=body, timeout=60)
                self.slowest = max(self.slowest, time.perf_counter() - begun)
                self.ids.append(reply.json()["id"] if reply.status_code == 200 else f"{reply.status_code}")

    def expect_recorded(self) -> None:
        """Verify that each answer is recorded once, and nothing else."""
        lines = self.reader.get(LIST, requesterId=LICENSED["id"], format="jsonl", fields="id").text
        recorded = sorted(orjson.loads(line)["id"] for line in lines.splitlines())
        expect(recorded == sorted(self.ids), f"{len(self.ids):,} checks answered, {len(recorded):,} recorded")


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
        readers = create_readers(made, options.accounts, now)
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
