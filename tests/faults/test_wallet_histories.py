"""Random histories of money (tests.wallets) with simultaneous requests, at a server with one process and with several.

WALLET_HISTORIES overrides tests.examples: the number of histories.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from tests.examples import rounds
from tests.faults.conftest import ON_POSTGRESQL, WORKERS
from tests.faults.harness import Deployment, eventually, separate
from tests.faults.traffic import Reply, at_once, request
from tests.wallets.books import Books
from tests.wallets.histories import Request, settings_of_histories
from tests.wallets.machine import Wallets

pytestmark = pytest.mark.faults

HISTORIES = int(os.environ.get("WALLET_HISTORIES") or rounds(12))
KILLED_HISTORIES = int(os.environ.get("WALLET_HISTORIES") or rounds(9))
MOST_KILLS = 2  # of a history
LOST = (0, 503)  # without a reply, or before the database answers again


@pytest.fixture(scope="module", params=[1, WORKERS] if ON_POSTGRESQL else [1])
def processes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A running server; with SQLite it has one process."""
    if not ON_POSTGRESQL or request.param == WORKERS:
        yield request.getfixturevalue("deployment")
        return
    with separate(tmp_path_factory.mktemp("histories"), workers=1) as deployment:
        yield deployment


class Served:
    """The transport of a state machine: requests to any process of a server, with an account for each history."""

    server: Deployment
    keys: Iterator[str]

    def __init__(self) -> None:
        super().__init__()
        self.key = next(self.keys)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Send a request on a new connection, to any process."""
        [reply] = self.send_all([(method, path, body)], **headers)
        return reply

    def send_all(self, requests: Sequence[Request], **headers: str) -> list[Reply]:
        return at_once(
            self.server, [request(method, path, self.key, body, **headers) for method, path, body in requests]
        )

    def now(self) -> datetime:
        return datetime.now(UTC)

    def wait(self, time: object) -> None:
        """Do nothing: a server's clock cannot be moved (tests/wallets lets days pass)."""


class Killed(Served):
    """The transport of a client whose server is killed during movements. It repeats requests that got no reply."""

    kills = 0
    delay: float | None = None
    numbers = count()

    @precondition(lambda self: self.kills < MOST_KILLS and hasattr(self, "closed"))
    @rule(milliseconds=st.integers(0, 60))
    def kill_soon(self, milliseconds: int) -> None:
        """Kill the server so long after the next movement begins."""
        self.kills += 1
        self.delay = milliseconds / 1000

    def send_all(self, requests: Sequence[Request], **headers: str) -> list[Reply]:
        if self.delay is None or all(method == "GET" for method, _, _ in requests):
            return super().send_all(requests, **headers)
        named = [
            request(method, path, self.key, body, **{"Idempotency-Key": f"movement-{next(self.numbers)}", **headers})
            for method, path, body in requests
        ]
        killing = threading.Timer(self.delay, self.server.kill)
        self.delay = None
        killing.start()
        try:
            replies = at_once(self.server, named)
        except OSError:  # killed before it accepted all connections
            replies = [Reply(0)] * len(named)
        killing.join()
        self.server.start()
        return [self.repeat(raw) if reply.status in LOST else reply for raw, reply in zip(named, replies, strict=True)]

    def repeat(self, raw: bytes) -> Reply:
        """Send a request until it is answered."""
        replies: list[Reply] = []

        def is_answered() -> bool:
            replies[:] = at_once(self.server, [raw])
            return replies[0].status not in LOST

        assert eventually(is_answered)
        return replies[0]


def run(machine: Any, transport: type[Served], server: Deployment, histories: int) -> None:
    """Run histories of the machine at the server, and check all books afterwards."""
    server.start()
    keys = (key for _ in count() for key, _ in server.accounts(20))
    made = type("Served", (transport, machine), {"server": server, "keys": keys})
    run_state_machine_as_test(made, settings=settings_of_histories(histories, 20))
    assert server.manage("check_books")["differences"] == []


@pytest.mark.parametrize("machine", [Wallets, Books])
def test_books_are_those_of_the_model_when_all_processes_write(processes: Deployment, machine: Any) -> None:
    run(machine, Served, processes, HISTORIES)


@pytest.mark.skipif(not ON_POSTGRESQL, reason="several processes write")
@pytest.mark.parametrize("machine", [Wallets, Books])
def test_a_kill_during_a_movement_loses_and_repeats_nothing(processes: Deployment, machine: Any) -> None:
    run(machine, Killed, processes, KILLED_HISTORIES)
