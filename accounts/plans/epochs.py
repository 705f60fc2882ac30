"""An account's epoch: its cache generation, a number that every change relevant to checks increments in its own
transaction.

A process's cache of an account is valid up to one epoch. A decision based on cached facts is recorded only if they
still hold at the account's epoch (analytics.recording.recorder). So a check that starts after a write was answered
sees that write, in every process, with or without Redis.

Each epoch records what changed, by name: an item or policy by UUID in hex, a key by id, a requester by number, a URL
by its key in hex (licensing.content.url_key). A process that has missed some epochs drops only those entries, and a
decision that depends on none of them is recorded anyway. An epoch without a row means that anything may have changed.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from uuid import UUID

import orjson
from django.db import connection, transaction
from django.utils import timezone

from accounts.plans.models import Account, EpochChange
from kit.storage.loading import key_share, prepare, prepared_cursor
from kit.storage.sqlite_turns import turn_to_write
from kit.values import ids

# Held by a write until its end. Statements that record decisions and requesters share it but only try to take it,
# because they also carry decisions of other accounts.
EPOCH_LOCK_SQL = "hashtextextended({account}, 1)"
LOCK_EPOCH_SQL = f"SELECT pg_advisory_xact_lock({EPOCH_LOCK_SQL.format(account='%s')})"
FIND_ACCOUNT_SQL = "SELECT 1 FROM accounts_account WHERE id = %s"
EVERYTHING = None  # passed instead of names
GONE = -1  # epoch of a deleted account; no key is valid at it
MAX_MISSED = 1_000  # epochs whose changes are read; beyond that, dropping the whole cache is cheaper
LIFETIME = timedelta(minutes=10)  # of a recorded change

listeners: list[Callable[[str, int], None]] = []  # called in any thread, after a commit of this process

INCREMENT_SQL = "UPDATE accounts_account SET epoch = epoch + 1 WHERE id = %s"
# An existing row for the same epoch means that somebody reset the epoch, so anything may have changed.
INSERT_CHANGE_SQL = """
INSERT INTO accounts_epochchange (account_id, epoch, names, created) SELECT {row}
ON CONFLICT (account_id, epoch) DO UPDATE SET names = NULL, created = excluded.created RETURNING epoch"""
INSERT_RAISED_SQL = INSERT_CHANGE_SQL.format(row="id, epoch, %s::jsonb, %s FROM raised")
POSTGRESQL_SQL = f"WITH raised AS ({INCREMENT_SQL} RETURNING id, epoch){INSERT_RAISED_SQL}"
SQLITE_SQL = INSERT_CHANGE_SQL.format(row="id, epoch, %s, %s FROM accounts_account WHERE id = %s")

# One statement, so one snapshot: a row for each change since an epoch, and a single one if there are none.
CHANGES_SINCE_SQL = f"""
SELECT account.epoch, change.names, change.epoch FROM accounts_account account
LEFT JOIN accounts_epochchange change ON change.account_id = account.id AND change.epoch > %s
  AND change.epoch <= account.epoch AND change.epoch > account.epoch - {MAX_MISSED}
WHERE account.id = %s"""  # noqa: S608 - made of constants


def current_epoch(account_id: str) -> int:
    """Return the account's epoch, or GONE. Read it before the facts it is to cover."""
    with prepared_cursor() as cursor:
        cursor.execute("SELECT epoch FROM accounts_account WHERE id = %s", [prepare(Account, "id", account_id)])
        row = cursor.fetchone()
    return GONE if row is None else row[0]


def lock_epoch(account_id: str) -> int:
    """Lock the account's epoch until the transaction ends, and return it.

    Writes that lock the same rows as checks (requesters, revenue totals) call it first, so that all lock in the same
    order. Decisions about new or newly named requesters wait for them.
    """
    epoch = Account.objects.select_for_update(no_key=True).values_list("epoch", flat=True).get(pk=account_id)
    if connection.vendor == "postgresql":
        with prepared_cursor() as cursor:
            cursor.execute(LOCK_EPOCH_SQL, [str(UUID(ids.id_to_hex("acc", account_id)))])
    return epoch


def prevent_deletion(account_id: str) -> bool:
    """Keep the account from being deleted until the transaction ends; return whether it exists.

    Writing requests call it before taking other locks, because deletion locks the account first. Requests of one
    account do not block each other here.
    """
    with prepared_cursor() as cursor:
        cursor.execute(FIND_ACCOUNT_SQL + key_share(), [prepare(Account, "id", account_id)])
        return cursor.fetchone() is not None


def invalidate(account_id: str, names: Collection[str] | None) -> None:
    """Invalidate cached entries of the account by name, effective at the commit; EVERYTHING invalidates all.

    Without names it does nothing, because nothing cached a resource that did not exist. Call it last in the
    transaction: it locks the account's row, which serialises the account's writes.
    """
    if names is not EVERYTHING and not names:
        return
    key = prepare(Account, "id", account_id)
    names_json = None if names is EVERYTHING else orjson.dumps(sorted(names)).decode()
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    with transaction.atomic(savepoint=False), prepared_cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(POSTGRESQL_SQL, [key, names_json, now])
        else:
            cursor.execute(INCREMENT_SQL, [key])
            cursor.execute(SQLITE_SQL, [names_json, now, key])
        for [epoch] in cursor.fetchall():
            transaction.on_commit(partial(notify, account_id, epoch))


def notify(account_id: str, epoch: int) -> None:
    """Tell the caches of this process that the account has reached an epoch, so that their next use reads on."""
    for listener in listeners:
        listener(account_id, epoch)


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of an account up to `epoch`: names with the epoch of their last change, or None for everything."""

    epoch: int
    names: Mapping[str, int] | None

    @classmethod
    def of(cls, known_epoch: int, rows: Iterable[Sequence[str | bytes | None]]) -> "Changes | None":
        """Build from the rows of CHANGES_SINCE_SQL. Returns None if the account was deleted."""
        names_by_epoch: dict[int, str | bytes | None] = {}
        epoch: int | None = None
        for newest, names, changed_at in rows:
            epoch = int(newest or 0)
            if changed_at is not None:
                names_by_epoch[int(changed_at)] = names
        if epoch is None:
            return None
        if len(names_by_epoch) < epoch - known_epoch or None in names_by_epoch.values():
            return cls(epoch, EVERYTHING)
        latest: dict[str, int] = {}
        for changed in sorted(names_by_epoch):
            latest.update(dict.fromkeys(orjson.loads(names_by_epoch[changed] or b"[]"), changed))
        return cls(epoch, latest)


def changes_since(account_id: str, known_epoch: int) -> Changes | None:
    """Return the changes since an epoch, or None if the account was deleted."""
    with prepared_cursor() as cursor:
        cursor.execute(CHANGES_SINCE_SQL, [known_epoch, prepare(Account, "id", account_id)])
        return Changes.of(known_epoch, cursor.fetchall())


def forget_changes() -> None:
    """Delete changes older than LIFETIME, which no process should still need."""
    with turn_to_write():
        EpochChange.objects.filter(created__lt=timezone.now() - LIFETIME).delete()
