"""An account moves to another PostgreSQL server under load: nothing answered is lost or doubled (decision record 11).

MOVED_SECONDS sets how long the load lasts before and after the move, MOVED_DECISIONS how many older decisions the
account has.
"""

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from decimal import Decimal
from itertools import count
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from kit.values import ids
from tests.factories import ALLOW_ALL, LICENSED
from tests.faults import moving
from tests.faults.harness import Deployment, deployed, eventually
from tests.faults.ledger import differences
from tests.faults.moving import Move, MoveError, number_from
from tests.services import postgres, valkey

pytestmark = pytest.mark.faults

SECONDS = float(os.environ.get("MOVED_SECONDS") or 2)
PAUSE = 0.01  # seconds between a client's requests: clients and move share a process
OLDER = int(os.environ.get("MOVED_DECISIONS") or 5_000)
LIMIT = 1_000_000
LIMITED = {**ALLOW_ALL, "rateLimit": {"requests": LIMIT, "period": "month"}}
BATCH = 50
PRICE, CREDIT = Decimal("0.05"), Decimal(1000)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Deployment, Deployment]]:
    """Two services with a PostgreSQL server each, the same secrets and the same Valkey."""
    shared = {"SECRET_KEY": "the same on both servers, for keys, cursors and replies 0123456789"}
    with (
        postgres(fsync=False) as one,
        postgres(fsync=False) as other,
        valkey() as redis,
        deployed(tmp_path_factory.mktemp("one"), postgres=one, valkey=redis, **shared) as source,
        deployed(tmp_path_factory.mktemp("other"), postgres=other, valkey=redis, **shared) as target,
    ):
        number_from(other.url, 1)
        yield source, target


def url_of(server: Deployment) -> str:
    assert server.postgres
    return server.postgres.url


class Publisher:
    """An account under load: checks that are limited, charged or paid from a wallet, new requesters, and new items."""

    def __init__(self, server: Deployment) -> None:
        [(account, self.key, _)] = server.ask_shell("accounts", 1)
        self.uuid = UUID(ids.id_to_hex("acc", account))
        self.placed_at = server
        self.answers: dict[str, dict[str, Any]] = {}
        self.keyed: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}  # checks with an Idempotency-Key
        self.created: set[str] = set()
        self.replies: Counter[tuple[str, int]] = Counter()
        self.answered_at: list[float] = []
        self.lock, self.ended, self.turns = threading.Lock(), threading.Event(), count()
        self.passes = threading.Event()  # whether its requests are sent on
        self.passes.set()
        with server.client(self.key) as client:
            rules = {"open": ALLOW_ALL, "licensed": LICENSED, "limited": LIMITED}
            self.items = {name: client.item(rule) for name, rule in rules.items()}
            for requester in ("org_billed", "org_prepaid"):
                price = {"amount": str(PRICE), "currency": "USD"}
                client.create("/v1/licenses", requesterId=requester, licenseType="a", pricePerAccess=price)
            self.wallet = client.create("/v1/wallets", requesterId="org_prepaid", unit="USD")
            client.create(f"/v1/wallets/{self.wallet}/grants", amount=str(CREDIT))

    def check(self, number: int, turn: int) -> dict[str, Any]:
        name = list(self.items)[turn % 3]
        requester = ("org_billed", "org_prepaid", f"org_{turn}")[number % 3]
        return {"contentId": self.items[name], "requester": requester}

    @contextmanager
    def load(self, clients: int = 4) -> Iterator[None]:
        """Check on `clients` connections and create items on one more, while the block runs."""
        self.ended.clear()
        threads = [threading.Thread(target=self.run, args=[number]) for number in range(clients)]
        threads.append(threading.Thread(target=self.create))
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.ended.set()
            for thread in threads:
                thread.join()

    def run(self, number: int) -> None:
        with self.client() as client:
            while not self.ended.is_set():
                turn = next(self.turns)
                headers = {"Idempotency-Key": f"check-{turn}"} if turn % 5 == 0 else {}
                if answer := self.ask(client, "/v1/access/check", self.check(number, turn), headers):
                    with self.lock:
                        self.answers[answer["id"]] = answer
                        self.answered_at.append(time.monotonic())
                        self.keyed |= {key: (self.check(number, turn), answer) for key in headers.values()}

    def create(self) -> None:
        with self.client() as client:
            while not self.ended.is_set():
                if made := self.ask(client, "/v1/content", {"title": "New"}, {}):
                    self.created.add(made["id"])

    def decide(self, count: int) -> None:
        """Decide in batches, before the load."""
        with self.client() as client:
            for turn in range(count // BATCH):
                checks = [{"contentId": self.items["open"]}] * BATCH
                body = {"requester": f"org_{turn % 20}", "checks": checks}
                reply = client.post(f"{self.placed_at.url}/v1/access/check/batch", json=body)
                self.answers |= {one["id"]: one for one in reply.json()["data"]}

    def client(self) -> httpx.Client:
        return httpx.Client(headers={"Authorization": f"Bearer {self.key}"}, trust_env=False, timeout=60)

    def ask(
        self, client: httpx.Client, path: str, body: dict[str, Any], headers: dict[str, str]
    ) -> dict[str, Any] | None:
        """Send the request to where the account is placed, when it is not held there; return None if it is refused."""
        self.passes.wait()
        reply = client.post(self.placed_at.url + path, json=body, headers=headers)
        with self.lock:
            self.replies[path, reply.status_code] += 1
        time.sleep(PAUSE)
        found: dict[str, Any] = reply.json()
        return found if reply.status_code in (200, 201) else None

    def place_at(self, *servers: Deployment) -> Callable[[str], None]:
        """Return a function that sends the account's requests to one of the servers, by its database."""

        def release(url: str) -> None:
            [self.placed_at] = [server for server in servers if url_of(server) == url]
            self.passes.set()

        return release

    @property
    def longest_gap(self) -> float:
        """Return the longest time without an answered check, in seconds."""
        pairs = zip(self.answered_at, self.answered_at[1:], strict=False)
        return max(later - earlier for earlier, later in pairs)

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        with self.client() as client:
            reply = client.get(self.placed_at.url + path, params=query)
        assert reply.status_code == 200, reply.text
        found: dict[str, Any] = reply.json()
        return found

    def exported(self, path: str, **query: Any) -> list[dict[str, Any]]:
        with self.client() as client:
            reply = client.get(self.placed_at.url + path, params={**query, "format": "jsonl"})
        assert reply.status_code == 200, reply.text
        return [json.loads(line) for line in reply.text.splitlines()]

    def discrepancies(self) -> list[str]:
        """Describe the differences between the service's records and the answers."""
        exported = self.exported("/v1/access/decisions")
        stored = {one["id"]: one for one in exported}
        found = [f"{len(exported) - len(stored)} decisions are listed twice"] if len(exported) != len(stored) else []
        found += [f"stored, but not answered: {id_}" for id_ in stored.keys() - self.answers.keys()]
        found += differences(self.answers, stored)
        for what, expected, actual in self.figures(stored.values()):
            if expected != actual:
                found.append(f"{what}: {actual} for {expected}")
        return found

    def figures(self, decisions: Collection[dict[str, Any]]) -> Iterator[tuple[str, object, object]]:
        """Yield what the service should say of these decisions, and what it says."""
        charged = sorted(one["id"] for one in decisions if one["charge"])
        yield "charges", charged, sorted(one["decisionId"] for one in self.exported("/v1/revenue", type="usage"))
        summary = self.get("/v1/analytics/revenue", period="7d", currency="USD")["summary"]
        yield "revenue", PRICE * len(charged), Decimal(str(summary["total"]))
        paid = sum(bool(one.get("credits")) for one in decisions)
        assert charged
        assert paid
        yield "balance", CREDIT - PRICE * paid, Decimal(str(self.get(f"/v1/wallets/{self.wallet}")["balance"]))
        usage = self.get("/v1/analytics/usage", period="7d")["summary"]
        yield "decisions in the report", len(decisions), usage["totalRequests"]
        for name, item in self.items.items():
            stats = self.get(f"/v1/content/{item}")["stats"]
            yield f"decisions of {name}", sum(one["contentId"] == item for one in decisions), stats["totalRequests"]
        used = [one for one in decisions if one["contentId"] == self.items["limited"]]
        used = [one for one in used if one["requester"]["id"] == "org_billed"]
        yield "left of the limit", LIMIT - len(used), min(one["rateLimit"]["remaining"] for one in used)
        for key, (check, answer) in [*self.keyed.items()][::50]:
            with self.client() as client:
                url, headers = f"{self.placed_at.url}/v1/access/check", {"Idempotency-Key": key}
                yield "retried check", answer, client.post(url, json=check, headers=headers).json()
        made = {one["id"] for one in self.exported("/v1/content")} - set(self.items.values())
        yield "items", self.created, made


def test_an_account_moves_to_another_server_and_back_under_load(servers: tuple[Deployment, Deployment]) -> None:
    here, there = servers
    moved, stays, local = Publisher(here), Publisher(here), Publisher(there)
    moved.decide(OLDER)
    pauses, copied = [], []
    with moved.load(), stays.load(2), local.load(2):
        time.sleep(SECONDS)
        for source, target in ((here, there), (there, here)):
            with Move.opened(moved.uuid, url_of(source), url_of(target)) as move:
                pauses.append(move.run(moved.passes.clear, moved.place_at(source, target)))
                copied.append(move.copied)
                assert [table.name for table in move.tables if table.chunks(move.source, None)] == []
            time.sleep(SECONDS)

    print(
        f"pauses: {[round(pause * 1000) for pause in pauses]} ms, {copied} rows copied, {len(moved.answers)} decisions"
    )
    gaps = {
        name: round(one.longest_gap * 1000) for name, one in (("moved", moved), ("stays", stays), ("local", local))
    }
    print(f"longest time without an answer, ms: {gaps}; replies: {dict(moved.replies)}")
    assert {status for _, status in moved.replies} <= {200, 201, 401, 404}
    assert {status for one in (stays, local) for _, status in one.replies} <= {200, 201}
    assert moved.discrepancies() == []
    assert stays.discrepancies() == []
    assert local.discrepancies() == []
    assert here.manage("rebuild_usage", "--check")["differences"] == []


def test_an_account_stays_if_a_transaction_is_in_the_way(servers, monkeypatch):
    source, target = servers
    publisher = Publisher(source)
    monkeypatch.setattr(moving, "WAIT_SECONDS", 0.2)
    with psycopg.connect(url_of(source)) as reader, publisher.load(2):
        reader.execute("SELECT")
        with (
            Move.opened(publisher.uuid, url_of(source), url_of(target)) as move,
            pytest.raises(MoveError, match="takes longer"),
        ):
            move.run(publisher.passes.clear, publisher.place_at(source, target))
        answered = len(publisher.answers)
        assert eventually(lambda: len(publisher.answers) > answered + 10)
    assert publisher.discrepancies() == []
