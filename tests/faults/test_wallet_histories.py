"""Random histories of money (tests.wallets) with simultaneous requests, at a server with one process and with three.

WALLET_HISTORIES overrides tests.examples: the number of histories.
"""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from hypothesis.stateful import run_state_machine_as_test

from tests.examples import rounds
from tests.faults.conftest import ON_POSTGRESQL
from tests.faults.harness import Deployment, deployed
from tests.faults.traffic import at_once, request
from tests.services import postgres, valkey
from tests.wallets.books import Books
from tests.wallets.histories import settings_of_histories
from tests.wallets.machine import Wallets

pytestmark = pytest.mark.faults

HISTORIES = int(os.environ.get("WALLET_HISTORIES") or rounds(12))


@pytest.fixture(scope="module", params=[1, 3] if ON_POSTGRESQL else [1])
def processes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A running server; with SQLite it has one process."""
    if not ON_POSTGRESQL:
        yield request.getfixturevalue("deployment")
        return
    directory = tmp_path_factory.mktemp("histories")
    with (
        postgres(fsync=False) as database,
        valkey() as redis,
        deployed(directory, workers=request.param, postgres=database, valkey=redis) as deployment,
    ):
        yield deployment


@pytest.mark.parametrize("machine", [Wallets, Books])
def test_books_are_those_of_the_model_when_all_processes_write(processes: Deployment, machine: Any) -> None:
    server = processes
    server.start()
    keys = (key for _ in count() for key, _ in server.accounts(20))

    class Served(machine):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.key = next(keys)

        def send(self, method, path, body=None, **headers):  # type: ignore[no-untyped-def]
            """Send a request on a new connection, to any process."""
            [reply] = self.send_all([(method, path, body)], **headers)
            return reply

        def send_all(self, requests, **headers):  # type: ignore[no-untyped-def]
            return at_once(
                server, [request(method, path, self.key, body, **headers) for method, path, body in requests]
            )

        def now(self) -> datetime:
            return datetime.now(UTC)

        def wait(self, time: object) -> None:
            """Do nothing: a server's clock cannot be moved (tests/wallets lets days pass)."""

    run_state_machine_as_test(Served, settings=settings_of_histories(HISTORIES, 20))
    assert server.manage("check_books")["differences"] == []
