"""What the state machines of wallets and books share: their way to the service, and the number of histories."""

import os
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine

from tests.examples import ALL, examples

HISTORIES = int(os.environ.get("WALLET_HISTORIES") or (2_000 if ALL else examples(30)))
Request = tuple[str, str, Any]  # method, path and body


class Histories(RuleBasedStateMachine):
    """Histories of requests. Subclasses provide the transport and the clock."""

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request and return the reply, which has `status` and `body`."""
        raise NotImplementedError

    def send_all(self, requests: Sequence[Request]) -> list[Any]:
        """Send requests simultaneously and return the replies."""
        raise NotImplementedError

    def post(self, path: str, **body: Any) -> Any:
        """Send a request that must succeed, and return the body of the reply."""
        reply = self.send("POST", path, body)
        assert reply.status in (200, 201), reply
        return reply.body

    def pages(self, path: str) -> Iterator[Any]:
        """Yield the rows of all pages of a list."""
        address = cursor = f"{path}{'&' if '?' in path else '?'}limit=100"
        while cursor:
            page = self.send("GET", cursor)
            assert page.status == 200, page
            yield from page.body["data"]
            cursor = f"{address}&cursor={page.body['nextCursor']}" if page.body["hasMore"] else ""

    def now(self) -> datetime:
        raise NotImplementedError

    def wait(self, time: timedelta) -> None:
        raise NotImplementedError

    def clean_up(self) -> None:
        """Store due entries and close months, as upkeep does."""


def settings_of_histories(number: int, steps: int) -> settings:
    """Return the settings of a run of so many histories, each of at most so many steps."""
    return settings(
        max_examples=number,
        stateful_step_count=steps,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
