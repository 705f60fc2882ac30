"""State machines that send requests in this process, with a settable clock. Simultaneous checks share commits."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from analytics.ledger.due import book_regularly
from analytics.rollups.roll_up import roll_up
from analytics.statements.checking import find_differences
from analytics.statements.closing import CLOSES_AFTER, close_next
from licensing.access.event_loop.metrics import CHECK
from tests import factories
from tests.wallets.together import post_together
from tests.ways import GatewayClient


def in_this_process(machine: Any, application: Any, clock: Any) -> Any:
    """Return a subclass of the machine. Its histories begin at the clock's time, and are undone at their ends."""
    begin = clock.now

    class InThisProcess(machine):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.history = transaction.atomic()
            self.history.__enter__()
            clock.now = begin
            self.account = factories.account()
            self.api = GatewayClient(factories.key_text(self.account), application)

        def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
            return self.api.request(method, path, body, headers=headers)

        def send_all(self, requests: Sequence[tuple[str, str, Any]]) -> list[Any]:
            paths = {path for _, path, _ in requests}
            if paths == {CHECK}:
                return post_together(self.api, CHECK, [body for _, _, body in requests])
            return [self.send(*request) for request in requests]

        def now(self) -> datetime:
            now: datetime = clock.now
            return now

        def wait(self, time: timedelta) -> None:
            clock.now += time

        def clean_up(self) -> None:
            book_regularly()
            roll_up()
            while close_next(self.account.pk, clock.now - CLOSES_AFTER):
                pass
            assert find_differences() == []

        def teardown(self) -> None:
            try:
                super().teardown()
                assert find_differences() == []
            finally:
                transaction.set_rollback(True)
                self.history.__exit__(None, None, None)

    return InThisProcess
