"""The key that decisions are signed with, for checks on the event loop."""

from kit.http.errors import ApiError
from kit.storage.microbatch import InThread, MicroBatch
from licensing.access.event_loop.blocking_calls import find_signer_now
from licensing.access.tokens.signing import Signer, kept_signer


class Signers:
    def __init__(self) -> None:
        self.lookups: MicroBatch[None, Signer | ApiError] = MicroBatch(InThread("signers", find_signer_now))

    async def current(self) -> Signer:
        """Raises ServiceUnavailable."""
        signer = kept_signer() or await self.lookups.submit(None)
        if isinstance(signer, ApiError):
            raise signer
        return signer
