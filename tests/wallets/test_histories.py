"""Histories of wallets (docs/wallets.md) in this process, in which days pass.

WALLET_HISTORIES sets how many are tried, in place of what tests.examples says.
"""

import os

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests import factories
from tests.clock import clock  # noqa: F401 - a fixture
from tests.examples import examples
from tests.wallets.machine import Wallets
from tests.ways import both_ways

HISTORIES = int(os.environ.get("WALLET_HISTORIES") or examples(30))
MADE_UP = settings(
    max_examples=HISTORIES,
    stateful_step_count=25,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


@both_ways
def test_balances_grants_and_entries_are_those_of_the_model_in_every_history(db, connect, clock):  # noqa: F811
    begin = clock.now

    class InThisProcess(Wallets):
        def __init__(self):
            super().__init__()
            clock.now = begin
            self.api = connect(factories.key_text(factories.account()))

        def send(self, method, path, body=None, **headers):
            return self.api.request(method, path, body, headers=headers)

        def send_all(self, bodies):
            return [self.send("POST", "/v1/access/check", body).body for body in bodies]

        def now(self):
            return clock.now

        def wait(self, time):
            clock.now += time

    run_state_machine_as_test(InThisProcess, settings=MADE_UP)
