"""Random wallet histories (docs/guides/wallets.md) in this process, over several days.

WALLET_HISTORIES overrides tests.examples: the number of histories.
"""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.clock import clock  # noqa: F401 - a fixture
from tests.wallets.in_process import in_this_process
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
    run_state_machine_as_test(in_this_process(Wallets, connect, clock), settings=MADE_UP)
