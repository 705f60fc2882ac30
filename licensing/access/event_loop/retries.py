"""`Idempotency-Key` of checks, by the rules of accounts.retries.idempotency.

The transaction that records a decision also claims its key and stores its reply, so a crash leaves both or neither.
"""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

from accounts.models import IdempotencyRecord
from accounts.retries.idempotency import WAIT_SECONDS, KeyTaken, RecordKey, find_records, replay
from kit.http.errors import ApiError
from kit.storage.microbatch import MicroBatch
from licensing.access.event_loop.callers import Sender
from licensing.access.event_loop.calls import Calls, in_thread

SECONDS_BETWEEN_LOOKS = 0.05

KeyedReply = tuple[bytes, dict[str, str]]  # body and additional headers


class Unsure(Exception):
    """The key must be looked up first: recording would write requesters even if the key turns out to be used."""


class Retries:
    """The idempotency keys of this process. Call every method on the event loop.

    `are_claimed_in_record` says whether the statement that records a decision can claim its key. Otherwise a
    transaction does, in which the check is decided.
    """

    def __init__(self, calls: Calls) -> None:
        self.are_claimed_in_record = calls.on_loop
        self.seconds_to_wait = 0 if calls.in_request else WAIT_SECONDS
        self.lookups: MicroBatch[RecordKey, IdempotencyRecord | None] = MicroBatch(in_thread("replies", find_records))
        self.running: set[RecordKey] = set()

    async def once(
        self, sender: Sender, key: str, digest: bytes, act: Callable[[bool], Awaitable[KeyedReply]]
    ) -> KeyedReply:
        """Return the result of `act`, which stores the key or raises KeyTaken; or the stored reply.

        Most keys are new, so `act` runs before any lookup. Its argument is whether the key was looked up; `act` raises
        Unsure if it needs that first. Raises IdempotencyMismatch, IdempotencyConflict and what `act` raises.
        """
        name = RecordKey(sender.grant.account_id, key)
        deadline = monotonic() + self.seconds_to_wait
        while name in self.running:
            await wait_until(deadline)
        self.running.add(name)
        is_looked_up = False
        try:
            while True:
                try:
                    return await act(is_looked_up)
                except (ApiError, Unsure) as outcome:
                    record = await self.lookups.result_of(name)
                    if record is not None:
                        await sender.confirm()  # its body, and another request with the key, may have taken long
                        await sender.readmit()
                        return replay(record, digest)
                    if isinstance(outcome, KeyTaken):
                        await wait_until(deadline)
                    elif isinstance(outcome, ApiError):
                        raise
                    is_looked_up = True
        finally:
            self.running.remove(name)


async def wait_until(deadline: float) -> None:
    """Wait a moment for another request with the key. Raises KeyTaken after the deadline."""
    if monotonic() >= deadline:
        raise KeyTaken
    await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
