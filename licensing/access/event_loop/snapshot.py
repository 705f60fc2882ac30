"""A process's cache of its accounts' items, requesters and grants: bounded in memory, each valid for one epoch."""

from typing import overload

from accounts.authentication import Grant
from licensing.access.lookup import compiled_policies
from licensing.access.subjects import Item, RequesterSnapshot
from licensing.licenses.compiled import compiled_licenses

# In kibibytes, about: an item takes 540 bytes and more, a requester 360, a grant with many addresses more.
MAX_WEIGHT = 200_000


Selector = tuple[str, str]  # of an item: `contentId`, `externalId`, `source` or `page`, and its name
Key = Selector | str  # of an item, or of a requester: its id
Known = Item | RequesterSnapshot


class Snapshot:
    """Entries by account and key. An entry of another epoch than the account's newest known one counts as absent.

    Items refer to compiled policies, and requesters to compiled licences. Those count in caches of their own, and none
    that has gone from there stays in memory because of an entry here.
    """

    def __init__(self, max_weight: int = MAX_WEIGHT) -> None:
        self.epochs: dict[str, int] = {}
        self.entries: dict[tuple[str, Key], tuple[int, Known]] = {}
        self.grants: dict[bytes, Grant] = {}  # by the digest of the key's text
        self.max_weight = max_weight
        self.weight = self.grants_weight = 0
        self.dropped = dropped_elsewhere()

    def advance(self, account_id: str, epoch: int) -> None:
        """Notes that the account has reached this epoch; what was read at earlier ones no longer counts."""
        if epoch > self.epochs.get(account_id, -1):
            self.epochs[account_id] = epoch

    @overload
    def get(self, account_id: str, key: Selector) -> Item | None: ...
    @overload
    def get(self, account_id: str, key: str) -> RequesterSnapshot | None: ...
    def get(self, account_id: str, key: Key) -> Known | None:
        entry = self.entries.get((account_id, key))
        return entry[1] if entry is not None and entry[0] == self.epochs[account_id] else None

    def put(self, account_id: str, epoch: int, key: Key, value: Known) -> None:
        self.advance(account_id, epoch)
        if self.dropped != (dropped := dropped_elsewhere()):
            self.dropped, self.weight = dropped, 0
            self.entries.clear()
        newest = self.epochs[account_id]  # one integer in memory for all entries, rather than an equal one for each
        if epoch == newest and is_kept(value.compiled):
            self.drop((account_id, key))
            self.entries[account_id, key] = (newest, value)
            self.weight += value.weight
            if self.weight > self.max_weight:
                self.make_room()

    def drop(self, name: tuple[str, Key]) -> None:
        former = self.entries.pop(name, None)
        if former is not None:
            self.weight -= former[1].weight

    def make_room(self) -> None:
        """Drops the oldest entries until a tenth is free."""
        while self.weight > self.max_weight * 0.9:
            self.drop(next(iter(self.entries)))

    def grant(self, digest: bytes) -> Grant | None:
        grant = self.grants.get(digest)
        return grant if grant is not None and grant.epoch == self.epochs[grant.account_id] else None

    def put_grant(self, digest: bytes, grant: Grant) -> None:
        self.advance(grant.account_id, grant.epoch)
        self.drop_grant(digest)
        self.grants[digest] = grant
        self.grants_weight += grant.weight
        while self.grants_weight > self.max_weight:
            self.drop_grant(next(iter(self.grants)))

    def drop_grant(self, digest: bytes) -> None:
        former = self.grants.pop(digest, None)
        if former is not None:
            self.grants_weight -= former.weight


def dropped_elsewhere() -> int:
    return compiled_policies.cached.dropped + compiled_licenses.cached.dropped


def is_kept(compiled: object) -> bool:
    return compiled is None or compiled_policies.cached.keeps(compiled) or compiled_licenses.cached.keeps(compiled)
