"""Reports from a streaming replica (docs/guides/deployment.md, A replica for reports)."""

import csv
import re
import socket
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import httpx
import psycopg
import pytest
from django.db import DEFAULT_DB_ALIAS
from psycopg import sql

from kit.storage.replica import REPLICA, measure
from tests.factories import LICENSED
from tests.faults.harness import Deployment, deployed, eventually
from tests.services import Postgres, postgres, standby

pytestmark = pytest.mark.faults
MAX_LAG = 10
PRICE = {"amount": 2, "currency": "USD"}


@pytest.fixture(scope="module")
def primary() -> Iterator[Postgres]:
    with postgres(fsync=False) as server:
        yield server


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, primary: Postgres
) -> Iterator[tuple[Deployment, Postgres, dict[str, str]]]:
    with standby(primary) as replica:
        settings = {"REPORTS_DATABASE_URL": replica.url, "REPORTS_MAX_LAG": str(MAX_LAG)}
        with deployed(tmp_path_factory.mktemp("replica"), postgres=primary, **settings) as server:
            operator = server.manage("first_operator")["operator"]["username"]
            yield server, replica, server.ask_shell("session", operator)


@pytest.fixture
def server(running: tuple[Deployment, Postgres, dict[str, str]]) -> Deployment:
    return running[0]


@pytest.fixture
def replica(server: Deployment, running: tuple[Deployment, Postgres, dict[str, str]]) -> Iterator[Postgres]:
    """The replica of the running service, which replays again after the test."""
    running[1].start()
    yield running[1]
    running[1].start()
    on(running[1], "SELECT pg_wal_replay_resume()")


def on(server: Postgres, statement: str) -> Any:
    with psycopg.connect(server.url, autocommit=True) as connection:
        [[value]] = connection.execute(statement).fetchall()  # type: ignore[arg-type]
        return value


def follow(replica: Postgres, primary: str) -> None:
    with psycopg.connect(replica.url, autocommit=True) as connection:
        connection.execute(sql.SQL("ALTER SYSTEM SET primary_conninfo = {}").format(sql.Literal(primary)))
        connection.execute("SELECT pg_reload_conf()")


def counts_of_sources(server: Deployment) -> dict[str, float]:
    metrics = httpx.get(f"{server.url}/metrics").text
    found = re.findall(r'^licensing_report_reads_total\{source="(\w+)"\} (\S+)$', metrics, re.MULTILINE)
    return {source: float(count) for source, count in found}


class Publisher:
    """An account with one item, and what each report says of the decisions about it."""

    def __init__(self, server: Deployment, session: dict[str, str]) -> None:
        [(key, _)] = server.accounts(1)
        self.client = server.client(key)
        self.admin = httpx.Client(base_url=server.url, cookies={session["name"]: session["value"]}, timeout=30)
        self.policy = self.client.policy(LICENSED)
        self.item = self.client.create("/v1/content", title="Item", policyId=self.policy)
        self.client.create("/v1/licenses", requesterId="org_acme", licenseType="commercial", pricePerAccess=PRICE)

    def ask(self) -> None:
        assert self.client.check(self.item).json()["allowed"]

    def replies(self) -> dict[str, httpx.Response]:
        return {
            "usage": self.client.get("/v1/analytics/usage"),
            "revenue": self.client.get("/v1/analytics/revenue"),
            "visitors": self.client.get("/v1/analytics/visitors"),
            "backtest": self.client.post(f"/v1/policies/{self.policy}/simulate", json={}),
            "decisions": self.client.get("/v1/access/decisions?format=csv"),
            "ledger": self.client.get("/v1/revenue?format=jsonl"),
        }

    def counts(self) -> dict[str, int]:
        """Return the number of decisions in each report and file."""
        found = self.replies()
        assert {reply.status_code for reply in found.values()} == {200}, found
        return {
            "usage": found["usage"].json()["summary"]["totalRequests"],
            "revenue": found["revenue"].json()["summary"]["total"] // 2,
            "backtest": found["backtest"].json()["total"],
            "decisions": len(list(csv.DictReader(found["decisions"].text.splitlines()))),
            "ledger": len(found["ledger"].text.splitlines()),
        }

    def as_of(self) -> set[datetime | None]:
        """Return the times that the replies name; None for one from the primary."""
        named = [reply.headers.get("As-Of") for reply in self.replies().values()]
        return {datetime.fromisoformat(text) if text else None for text in named}

    def is_read_from_the_replica(self) -> bool:
        return None not in self.as_of()

    def is_read_from_the_primary(self) -> bool:
        return self.as_of() == {None}


@pytest.fixture
def publisher(
    server: Deployment, replica: Postgres, running: tuple[Deployment, Postgres, dict[str, str]]
) -> Publisher:
    made = Publisher(server, running[2])
    made.ask()
    assert eventually(made.is_read_from_the_replica)
    assert eventually(lambda: set(made.counts().values()) == {1})
    return made


def test_reports_are_as_of_the_replica_until_it_is_too_far_behind(publisher, server, replica):
    on(replica, "SELECT pg_wal_replay_pause()::text")
    paused = datetime.now(UTC)
    publisher.ask()
    assert set(publisher.counts().values()) == {1}
    assert max(moment for moment in publisher.as_of() if moment) < datetime.now(UTC)
    assert publisher.client.get("/v1/access/decisions").json()["totalCount"] == 2  # a list shows what was written
    assert "As of" in publisher.admin.get("/admin/").text

    assert eventually(publisher.is_read_from_the_primary, 3 * MAX_LAG)
    assert (datetime.now(UTC) - paused).total_seconds() >= MAX_LAG
    assert set(publisher.counts().values()) == {2}
    assert "As of" not in publisher.admin.get("/admin/").text
    assert server.is_ready()

    on(replica, "SELECT pg_wal_replay_resume()::text")
    assert eventually(publisher.is_read_from_the_replica)
    assert set(publisher.counts().values()) == {2}
    assert server.log().count("Reports are read from the primary: the replica has commits until") == 1
    assert server.log().count("Reports are read from the replica again.") >= 1


def test_an_idle_primary_is_no_lag(publisher: Publisher, primary: Postgres) -> None:
    time.sleep(MAX_LAG + 1)  # the time without commits is what is tested
    assert publisher.is_read_from_the_replica()
    publisher.ask()  # the first commit after the pause
    assert publisher.is_read_from_the_replica()


def test_a_replica_that_has_lost_its_primary_is_stale_although_it_has_replayed_all_it_received(publisher, replica):
    primary = on(replica, "SHOW primary_conninfo")
    follow(replica, "")
    try:
        publisher.ask()
        assert eventually(publisher.is_read_from_the_primary, 3 * MAX_LAG)
        assert set(publisher.counts().values()) == {2}
    finally:
        follow(replica, primary)
    assert eventually(publisher.is_read_from_the_replica)


def test_without_its_replica_the_service_is_ready_and_reports_come_from_the_primary(publisher, server, replica):
    replica.kill()
    publisher.ask()
    assert set(publisher.counts().values()) == {2}
    assert server.is_ready()
    assert eventually(lambda: publisher.is_read_from_the_primary() and counts_of_sources(server).get("unreachable"))
    assert counts_of_sources(server)["replica"] > 0
    replica.start()
    assert eventually(publisher.is_read_from_the_replica)


def test_a_file_goes_on_from_the_primary_if_the_replica_dies(publisher, server, replica):
    padding = {f"key_{number}": "x" * 400 for number in range(8)}
    for _ in range(10):
        items = [{"title": f"Item {number}", "metadata": padding} for number in range(250)]
        assert publisher.client.post("/v1/content/bulk", json={"items": items}).status_code == 200
    assert eventually(lambda: len(publisher.client.get("/v1/content?format=jsonl").text.splitlines()) == 2_501)
    small = httpx.HTTPTransport(socket_options=[(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)])
    with (
        httpx.Client(base_url=server.url, headers=publisher.client.headers, transport=small, timeout=60) as client,
        client.stream("GET", "/v1/content?format=jsonl", headers={"Accept-Encoding": "identity"}) as reply,
    ):
        received = reply.iter_bytes()
        read = [next(received)]
        replica.kill()
        read += received
    assert "As-Of" in reply.headers
    assert len(b"".join(read).splitlines()) == 2_501
    assert "Repeated on the primary what failed on the replica" in server.log()


@pytest.mark.parametrize("role", ["postgres", "ordinary"])
def test_a_replica_is_not_current_while_it_follows_the_former_primary(monkeypatch, role):
    with postgres(fsync=False) as former, standby(former) as heir, standby(former) as replica:
        servers = {DEFAULT_DB_ALIAS: former, REPLICA: replica}

        def row_of(alias: str, statement: str, parameters: Sequence[str] = ()) -> list[Any]:
            url = servers[alias].url.replace("postgres@", f"{role}@")
            with psycopg.connect(url) as connection:
                [row] = connection.execute(statement, parameters).fetchall()  # type: ignore[arg-type]
                return list(row)

        monkeypatch.setattr("kit.storage.replica.fetch_row", row_of)
        with psycopg.connect(former.url) as connection:
            connection.execute("CREATE ROLE ordinary LOGIN")
        for server in (heir, replica):
            assert eventually(
                lambda server=server: on(server, "SELECT count(*) FROM pg_roles WHERE rolname = 'ordinary'")
            )
        assert measure().fault == ""

        on(heir, "SELECT pg_promote()")
        servers[DEFAULT_DB_ALIAS] = heir
        assert measure().fault == "another_timeline"
        former.kill()
        assert measure().fault == "another_timeline"

        follow(replica, f"host=127.0.0.1 port={heir.port} user=postgres")
        if role != "postgres":  # it sees the timeline that the replica has kept, not the one that it receives
            for server in (heir, replica):
                with psycopg.connect(server.url, autocommit=True) as connection:
                    connection.execute("CHECKPOINT")
        assert eventually(lambda: measure().fault == "")
