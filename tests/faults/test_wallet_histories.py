"""Histories of wallets (tests.wallets) at all processes of a server, where checks arrive at the same moment.

WALLET_HISTORIES sets how many are tried, in place of what tests.examples says.
"""

import os
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.examples import examples
from tests.faults.harness import Deployment
from tests.faults.traffic import at_once, request
from tests.wallets.machine import Wallets

pytestmark = pytest.mark.faults

HISTORIES = int(os.environ.get("WALLET_HISTORIES") or examples(12))
MADE_UP = settings(
    max_examples=HISTORIES,
    stateful_step_count=20,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


def test_balances_are_those_of_the_model_when_all_processes_spend(server: Deployment) -> None:
    class Served(Wallets):
        def __init__(self) -> None:
            super().__init__()
            [(self.key, _)] = server.accounts(1)
            self.client = server.client(self.key)  # each request on a new connection, to any process

        def send(self, method, path, body=None, **headers):  # type: ignore[no-untyped-def]
            reply = self.client.request(method, path, json=body, headers=headers)
            return SimpleNamespace(status=reply.status_code, body=reply.json(), content=reply.content)

        def send_all(self, bodies):  # type: ignore[no-untyped-def]
            replies = at_once(server, [request("POST", "/v1/access/check", self.key, body) for body in bodies])
            return [reply.body for reply in replies]

        def now(self) -> datetime:
            return datetime.now(UTC)

        def wait(self, time: object) -> None:
            """A server's clock goes its own way; tests/wallets lets days pass."""

        def teardown(self) -> None:
            super().teardown()
            self.client.close()

    run_state_machine_as_test(Served, settings=MADE_UP)
