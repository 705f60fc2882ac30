"""The recorder on the event loop: the same statement on a connection that no thread has to be woken for."""

from collections.abc import Sequence

from analytics.recording.batch import Batch, Entry, Outcome
from kit.storage.async_postgres import Sessions
from kit.telemetry.tracing import traced


class AsyncRecorder:
    def __init__(self) -> None:
        self.sessions = Sessions()

    @traced("INSERT decisions", system="postgresql")
    async def record(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Writes the decisions, in one transaction. Raises Django's OperationalError; then nothing is answered."""
        batch = Batch(entries)
        [row] = await self.sessions.run(*batch.statement())
        return batch.read_row(row)
