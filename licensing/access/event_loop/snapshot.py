"""Per-process cache of items and requesters: bounded in memory, valid up to each account's epoch."""

from collections.abc import Iterable
from typing import overload

from msgspec.structs import replace

from accounts.keys.authentication import Grant
from accounts.keys.callers import known_grants
from accounts.plans.epochs import EVERYTHING, Changes
from licensing.access.lookup.pages import compiled_policies
from licensing.access.subjects import Item, RequesterSnapshot
from licensing.licenses.compiled import compiled_licenses

# In KiB, approximately: an item takes 540 bytes or more, a requester 360.
MAX_WEIGHT = 200_000
MAX_CHANGES = 100_000  # names of changed objects, over all accounts; each takes about 200 bytes


Selector = tuple[str, str]  # (`contentId`, `externalId`, `source` or `page`; its value)
Key = Selector | str  # an item's selector, or a requester's id
Known = Item | RequesterSnapshot


class Epochs:
    """The cache generations of an account.

    Cached facts are valid at `epoch`, unless they were read before `floor` or a dependency in `changed` changed after
    they were read. `newest` is the highest epoch this process knows of.
    """

    __slots__ = ("changed", "epoch", "floor", "newest")

    def __init__(self, epoch: int) -> None:
        self.epoch = self.newest = self.floor = epoch
        self.changed: dict[str, int] = {}  # epoch of the last change since the floor, by name

    def holds(self, read_at: int, depends_on: Iterable[str]) -> bool:
        """Return whether facts read at an epoch are still valid at `epoch`."""
        if not self.floor <= read_at <= self.epoch:
            return False
        changed = self.changed
        if changed:
            for name in depends_on:  # a generator would double the time
                if changed.get(name, -1) > read_at:
                    return False
        return True

    def forget(self) -> None:
        self.floor = self.epoch
        self.changed.clear()


class Snapshot:
    """Cached facts by account and key, each with the epoch up to which it is valid. Outdated entries count as absent.

    Items refer to compiled policies, and requesters to compiled licences. Those have caches of their own; no entry
    here keeps an evicted one in memory.
    """

    def __init__(self, max_weight: int = MAX_WEIGHT) -> None:
        self.accounts: dict[str, Epochs] = {}
        self.entries: dict[tuple[str, Key], tuple[int, Known]] = {}
        self.max_weight = max_weight
        self.weight = self.changes = 0
        self.dropped = dropped_elsewhere()

    # --- Epochs ------------------------------------------------------------------------------------------------------

    def note(self, account_id: str, epoch: int) -> Epochs:
        """Note that the account has reached this epoch."""
        epochs = self.accounts.get(account_id)
        if epochs is None:
            epochs = self.accounts[account_id] = Epochs(epoch)
        elif epoch > epochs.newest:
            epochs.newest = epoch
        return epochs

    def hear(self, account_id: str, epoch: int) -> None:
        """Note that an account whose facts are cached has reached this epoch. Threads may call it."""
        epochs = self.accounts.get(account_id)
        if epochs is not None and epoch > epochs.newest:
            epochs.newest = epoch

    def advance(self, account_id: str, changes: Changes | None) -> None:
        """Invalidate what has changed since the account's epoch; everything if the account was deleted."""
        epochs = self.accounts.get(account_id)
        if epochs is None:
            return  # emptied meanwhile
        if changes is None:
            changes = Changes(epochs.newest + 1, EVERYTHING)
        if changes.epoch <= epochs.epoch:
            return
        epochs.epoch, epochs.newest = changes.epoch, max(epochs.newest, changes.epoch)
        self.changes -= len(epochs.changed)
        if changes.names is EVERYTHING:
            epochs.forget()
        else:
            epochs.changed |= changes.names
        self.changes += len(epochs.changed)
        if self.changes > MAX_CHANGES:
            for each in self.accounts.values():
                each.forget()
            self.changes = 0

    def clear(self) -> None:
        """Forget everything, epochs too."""
        self.accounts.clear()
        self.entries.clear()
        known_grants.clear()
        self.weight = self.changes = 0

    # --- Items and requesters ----------------------------------------------------------------------------------------

    @overload
    def get(self, account_id: str, key: Selector) -> Item | None: ...
    @overload
    def get(self, account_id: str, key: str) -> RequesterSnapshot | None: ...
    def get(self, account_id: str, key: Key) -> Known | None:
        entry = self.entries.get((account_id, key))
        if entry is None:
            return None
        read_at, value = entry
        epochs = self.accounts[account_id]
        if read_at != epochs.epoch:
            if not epochs.holds(read_at, value.depends_on):
                return None
            self.entries[account_id, key] = (epochs.epoch, value)
        return value

    def put(self, account_id: str, epoch: int, key: Key, value: Known) -> None:
        epochs = self.note(account_id, epoch)
        if self.dropped != (dropped := dropped_elsewhere()):
            self.dropped, self.weight = dropped, 0
            self.entries.clear()
        if epoch == epochs.epoch:
            epoch = epochs.epoch  # share one integer object among all entries
        if epoch >= epochs.floor and is_kept(value.compiled):
            self.drop((account_id, key))
            self.entries[account_id, key] = (epoch, value)
            self.weight += value.weight
            if self.weight > self.max_weight:
                while self.weight > self.max_weight * 0.9:  # evict the oldest entries until a tenth is free
                    self.drop(next(iter(self.entries)))

    def drop(self, name: tuple[str, Key]) -> None:
        former = self.entries.pop(name, None)
        if former is not None:
            self.weight -= former[1].weight

    # --- Grants ------------------------------------------------------------------------------------------------------

    def grant(self, name: bytes) -> Grant | None:
        """Return the key's cached grant, or None if it is missing or out of date."""
        grant = known_grants.by_name.get(name)
        if grant is None:
            return None
        epochs = self.accounts.get(grant.account_id)
        if epochs is None:
            return None
        epochs.newest = max(epochs.newest, grant.epoch)
        if grant.epoch < epochs.epoch:
            if not epochs.holds(grant.epoch, grant.depends_on):
                return None
            grant = replace(grant, epoch=epochs.epoch)
            known_grants.confirm(name, grant)
        return grant

    def vouches(self, grant: Grant, epoch: int) -> bool:
        """Return whether the grant is known to be valid at an epoch."""
        if grant.epoch == epoch:
            return True
        epochs = self.accounts.get(grant.account_id)
        if epochs is None or not grant.epoch < epoch <= epochs.epoch:
            return False
        return epochs.holds(grant.epoch, grant.depends_on)


def dropped_elsewhere() -> int:
    return compiled_policies.cached.dropped + compiled_licenses.cached.dropped


def is_kept(compiled: object) -> bool:
    return compiled is None or compiled_policies.cached.keeps(compiled) or compiled_licenses.cached.keeps(compiled)
