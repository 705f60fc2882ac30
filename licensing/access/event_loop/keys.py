"""Keys on the event loop, for PostgreSQL: the same statement as in threads, for all requests of the moment at once."""

from collections.abc import Sequence
from dataclasses import replace

from accounts.keys import keytext
from accounts.keys.authentication import POSTGRESQL, Grant, granted, unknown_key
from kit.http.errors import ApiError
from kit.storage.async_postgres import Sessions
from kit.telemetry.tracing import traced

FIND = POSTGRESQL.replace("SELECT ", "SELECT api_key.digest, ", 1) + "digest = ANY(%s::bytea[])"


class AsyncKeys:
    def __init__(self) -> None:
        self.sessions = Sessions()

    @traced("SELECT keys", system="postgresql")
    async def find(self, texts: Sequence[str]) -> list[Grant | ApiError]:
        """The grants of well-formed keys' texts, with InvalidApiKey for one that is unknown."""
        digests = ["\\x" + keytext.digest(text).hex() for text in texts]
        quoted = ",".join('"\\' + digest + '"' for digest in set(digests))
        rows = await self.sessions.run(FIND, [f"{{{quoted}}}"])
        found = {
            (digest or b"").decode(): replace(granted((told or b"").decode()), epoch=int(epoch or 0))
            for digest, epoch, told in rows
        }
        return [found.get(digest) or unknown_key() for digest in digests]
