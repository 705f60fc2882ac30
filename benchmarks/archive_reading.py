"""Fill, read and check the accounts of benchmarks.archive."""

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from statistics import median
from threading import Event, Thread
from typing import Any, NamedTuple

import httpx
import orjson
import psycopg

from benchmarks.harness import expect
from benchmarks.log_import import MOST_SECONDS
from benchmarks.ours import ALLOW_LICENSED, LICENSED, Installation
from kit.values import ids

LIST = "/v1/access/decisions"
REPEATS = 5
FILES = 4  # items whose decisions are exported
SIMULATED, EXPORTED = timedelta(days=90), timedelta(days=90)
CHECKS_PER_SECOND = 20
FILL = """
from accounts.models import Account
from benchmarks.long_lists_data import fill, shared_values
from licensing.content.models import Content
from licensing.policies.models import Policy
for account in Account.objects.order_by("pk"):
    values = shared_values(account, days={days})
    Content.objects.filter(account=account).update(policy=Policy.objects.filter(account=account).first())
    fill("/v1/access/decisions", {rows}, values, report=lambda text: None)
"""
IDS = """
SELECT id FROM analytics_accessevent TABLESAMPLE SYSTEM (%s) WHERE account_id = %s
  AND created < date_trunc('month', now() AT TIME ZONE 'UTC') LIMIT %s
"""


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


def readers_of(made: Installation, accounts: int, now: datetime) -> list[Reader]:
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
