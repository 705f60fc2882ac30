"""Random histories of wallets (docs/guides/wallets.md) and of all books, in this process, over days and months.

WALLET_HISTORIES overrides tests.examples: the number of histories.
"""

import pytest
from hypothesis.stateful import run_state_machine_as_test

from tests.clock import clock  # noqa: F401 - a fixture
from tests.wallets.books import Books
from tests.wallets.histories import HISTORIES, settings_of_histories
from tests.wallets.in_process import in_this_process
from tests.wallets.machine import Wallets


@pytest.mark.slow
@pytest.mark.parametrize(("machine", "steps"), [(Wallets, 25), (Books, 20)])
def test_all_books_agree_with_the_model_in_every_history(db, application, clock, machine, steps):  # noqa: F811
    made = in_this_process(machine, application, clock)
    run_state_machine_as_test(made, settings=settings_of_histories(HISTORIES, steps))
