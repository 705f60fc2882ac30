"""Random wallet histories (docs/guides/wallets.md) in this process, over several days.

WALLET_HISTORIES overrides tests.examples: the number of histories.
"""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from analytics.models import Wallet
from analytics.statements.closing import CLOSES_AFTER, close_next
from analytics.wallets.upkeep import settle_due
from tests import factories
from tests.clock import clock  # noqa: F401 - a fixture
from tests.wallets.machine import HISTORIES, Wallets

MADE_UP = settings(
    max_examples=HISTORIES,
    stateful_step_count=25,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.slow
def test_balances_grants_and_entries_are_those_of_the_model_in_every_history(db, connect, clock):  # noqa: F811
    begin = clock.now

    class InThisProcess(Wallets):
        def __init__(self):
            super().__init__()
            clock.now = begin
            self.account = factories.account()
            self.api = connect(factories.key_text(self.account))

        def send(self, method, path, body=None, **headers):
            return self.api.request(method, path, body, headers=headers)

        def send_all(self, requests):
            return [self.send(*request) for request in requests]

        def now(self):
            return clock.now

        def wait(self, time):
            clock.now += time

        def clean_up(self):
            settle_due()
            while close_next(self.account.pk, clock.now - CLOSES_AFTER):
                pass

        def teardown(self):
            super().teardown()
            Wallet.objects.filter(account=self.account).update(next_change_at=None)  # the next history's clean-up

    run_state_machine_as_test(InThisProcess, settings=MADE_UP)
