"""`Idempotency-Key` of checks on PostgreSQL, by the rules of accounts.retries.idempotency.

The transaction that records a decision also claims its key and stores its reply, so a crash leaves both or neither.
"""

import asyncio
from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence

from django.utils import timezone
from msgspec import Struct

from accounts.models import IdempotencyRecord
from accounts.retries.idempotency import WAIT_SECONDS, KeyTaken, open_reply, replays
from kit.http.errors import ApiError
from kit.http.rendering import render_json
from kit.storage.microbatch import MicroBatch
from kit.storage.postgresql.async_postgres import Row, Sessions
from kit.telemetry.tracing import traced
from kit.values.timestamps import EPOCH, MICROSECOND
from licensing.access.event_loop.callers import Sender
from licensing.access.event_loop.calls import Calls
from licensing.access.event_loop.lookup import PLANNED_ONCE

FIND = """
SELECT wanted.place, encode(record.fingerprint, 'hex'), encode(record.reply, 'base64'),
  encode(record.headers, 'base64'), (extract(epoch FROM record.created) * 1000000)::bigint
FROM json_to_recordset(%s::json) AS wanted (place int, account uuid, key text)
JOIN LATERAL (
  SELECT fingerprint, reply, headers, created FROM accounts_idempotencyrecord
  WHERE account_id = wanted.account AND key = wanted.key LIMIT 1
) record ON true
"""
SECONDS_BETWEEN_LOOKS = 0.05


class Unsure(Exception):
    """The key must be looked up first: recording would write requesters even if the key turns out to be used."""


Name = tuple[str, str]  # (account's UUID in hex, key)
KeyedReply = tuple[bytes, dict[str, str]]  # body and additional headers


class StoredKey(Struct, frozen=True):
    """The stored record of a key. `created` is in microseconds since 1970."""

    fingerprint: bytes
    reply: bytes
    headers: bytes | None
    created: int

    @property
    def has_expired(self) -> bool:
        age = (timezone.now() - EPOCH) // MICROSECOND - self.created
        return age >= IdempotencyRecord.LIFETIME // MICROSECOND

    @classmethod
    def of(cls, row: Row) -> "StoredKey":
        fingerprint, reply, headers, created = row
        digest = bytes.fromhex((fingerprint or b"").decode())
        return cls(digest, b64decode(reply or b""), None if headers is None else b64decode(headers), int(created or 0))


class Retries:
    """The idempotency keys of this process. Call every method on the event loop."""

    def __init__(self, calls: Calls) -> None:
        self.sessions = Sessions(PLANNED_ONCE)
        self.lookups: MicroBatch[Name, StoredKey | None] = calls.shared(self.find)
        self.running: dict[Name, asyncio.Future[None]] = {}

    async def once(
        self, sender: Sender, key: str, digest: bytes, act: Callable[[bool], Awaitable[KeyedReply]]
    ) -> KeyedReply:
        """Return the result of `act`, which stores the key or raises KeyTaken; or the stored reply.

        Most keys are new, so `act` runs before any lookup. Its argument is whether the key was looked up; `act` raises
        Unsure if it needs that first. Raises IdempotencyMismatch, IdempotencyConflict and what `act` raises.
        """
        name = sender.grant.account_key, key
        deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
        if name in self.running:
            await self.wait_for_turn(name)
        mine = self.running[name] = asyncio.get_running_loop().create_future()
        is_looked_up = False
        try:
            while True:
                try:
                    return await act(is_looked_up)
                except (ApiError, Unsure) as outcome:
                    kept = await self.lookups.result_of(name)
                    if kept is not None and not kept.has_expired:
                        return await self.replay(sender, kept, digest)
                    if isinstance(outcome, KeyTaken):
                        if asyncio.get_running_loop().time() > deadline:
                            raise
                        await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
                    elif isinstance(outcome, ApiError):
                        raise
                    is_looked_up = True
        finally:
            del self.running[name]
            mine.set_result(None)

    async def wait_for_turn(self, name: Name) -> None:
        """Wait until this process serves no other request with the key. Raises IdempotencyConflict after
        WAIT_SECONDS.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + WAIT_SECONDS
        while (other := self.running.get(name)) is not None:
            if loop.time() > deadline:
                raise KeyTaken
            await asyncio.wait([other], timeout=deadline - loop.time())

    async def replay(self, sender: Sender, kept: StoredKey, digest: bytes) -> KeyedReply:
        reply, headers = open_reply(kept.fingerprint, kept.reply, kept.headers, digest)
        await sender.confirm()  # the body may have taken long to arrive, and another request with the key to end
        await sender.readmit()
        replays.inc()
        return reply, headers

    @traced("SELECT replies", system="postgresql")
    async def find(self, many: Sequence[Name]) -> list[StoredKey | None]:
        wanted = [{"place": place, "account": account, "key": key} for place, (account, key) in enumerate(many)]
        found: list[StoredKey | None] = [None] * len(many)
        for place, *row in await self.sessions.run(FIND, [render_json(wanted).decode()]):
            found[int(place or 0)] = StoredKey.of(row)
        return found
