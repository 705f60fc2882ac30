"""What has changed of accounts, read on the event loop, for PostgreSQL."""

from collections.abc import Sequence

from accounts.plans.epochs import SINCE, Changes
from kit.storage.async_postgres import Sessions
from kit.telemetry.tracing import traced
from kit.values import ids
from licensing.access.event_loop.blocking_calls import Since


class AsyncChanges:
    def __init__(self) -> None:
        self.sessions = Sessions()

    @traced("SELECT changes", system="postgresql")
    async def since(self, many: Sequence[Since]) -> list[Changes | None]:
        """As accounts.plans.epochs.changes_since; what several ask for is read once."""
        found: dict[Since, Changes | None] = {}
        for account_id, known in set(many):
            rows = await self.sessions.run(SINCE, [str(known), ids.hex_of("acc", account_id)])
            found[account_id, known] = Changes.of(known, rows)
        return [found[since] for since in many]
