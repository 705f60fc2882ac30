"""What a process has cached of its accounts: bounded in memory, and valid for one epoch of the account each."""

from itertools import islice
from typing import Any

from accounts.authentication import Grant

MAX_ENTRIES = 200_000  # an item takes 540 bytes and more, a requester 360


class Snapshot:
    """Entries by account and key. An entry of another epoch than the account's newest known one counts as absent."""

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self.max_entries = max_entries
        self.epochs: dict[str, int] = {}
        self.entries: dict[tuple[str, Any], tuple[int, Any]] = {}
        self.grants: dict[bytes, Grant] = {}  # by the digest of the key's text

    def advance(self, account_id: str, epoch: int) -> None:
        """Notes that the account has reached this epoch; what was read before it counts no more."""
        if epoch > self.epochs.get(account_id, -1):
            self.epochs[account_id] = epoch

    def get(self, account_id: str, key: Any) -> Any:
        entry = self.entries.get((account_id, key))
        return entry[1] if entry is not None and entry[0] == self.epochs[account_id] else None

    def put(self, account_id: str, epoch: int, key: Any, value: Any) -> None:
        self.advance(account_id, epoch)
        newest = self.epochs[account_id]  # one integer in memory for all entries, rather than an equal one for each
        if epoch == newest:
            self.make_room(self.entries)
            self.entries[account_id, key] = (newest, value)

    def grant(self, digest: bytes) -> Grant | None:
        grant = self.grants.get(digest)
        return grant if grant is not None and grant.epoch == self.epochs[grant.account_id] else None

    def put_grant(self, digest: bytes, grant: Grant) -> None:
        self.advance(grant.account_id, grant.epoch)
        self.make_room(self.grants)
        self.grants[digest] = grant

    def make_room(self, kept: dict[Any, Any]) -> None:
        """Drops the tenth that was read longest ago."""
        if len(kept) >= self.max_entries:
            for key in list(islice(kept, self.max_entries // 10)):
                del kept[key]
