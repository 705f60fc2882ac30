"""An account's epoch: a number that every change of what a check depends on raises, in the change's own transaction.

What a process has cached of an account holds up to one epoch. A decision made on cached facts is recorded only if they
still hold at the account's epoch (analytics.recording.recorder), so a check that begins after a write's reply sees the
write: in every process, with Redis or without, whoever wrote it.

Beside the epoch stands what changed at it, by name: an item and a policy by the UUID in hex, a key by its id, a
requester by its number, and what is found at a URL by the key of that (licensing.content.url_key) in hex. So a process
that has missed some epochs forgets what changed at them, and keeps the rest; and a decision is recorded all the same
if nothing that it depends on is among them. Where one of them has no row, anything may have changed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import orjson
from django.db import connection, transaction
from django.utils import timezone

from accounts.plans.models import Account, EpochChange
from kit.storage.prepared import prepared_cursor
from kit.storage.sqlite_turns import turn_to_write
from kit.values import ids

# Held by a write, until its end, and shared by statements that record decisions and requesters: these, which carry the
# decisions of other accounts too, only try it.
HELD = "hashtextextended({account}, 1)"
HOLD = f"SELECT pg_advisory_xact_lock({HELD.format(account='%s')})"
FIND = "SELECT 1 FROM accounts_account WHERE id = %s"
KEEP = {"postgresql": f"{FIND} FOR KEY SHARE", "sqlite": FIND}  # on SQLite one transaction writes at a time
EVERYTHING = None  # in the place of names
MAX_MISSED = 1_000  # epochs, of which the changes are read; to forget everything costs less than to read more
LIFETIME = timedelta(minutes=10)  # of what is known of a change

RAISE = "UPDATE accounts_account SET epoch = epoch + 1 WHERE id = %s"
# An epoch that was there before, because somebody has set it back, changed who knows what.
NOTE = """
INSERT INTO accounts_epochchange (account_id, epoch, names, created) SELECT {row}
ON CONFLICT (account_id, epoch) DO UPDATE SET names = NULL, created = excluded.created"""
POSTGRESQL = f"WITH raised AS ({RAISE} RETURNING id, epoch){NOTE.format(row='id, epoch, %s::jsonb, %s FROM raised')}"
SQLITE = NOTE.format(row="id, epoch, %s, %s FROM accounts_account WHERE id = %s")

# In one statement, and so of one moment. A row for each change since an epoch, and one without where there is none.
SINCE = f"""
SELECT account.epoch, change.names, change.epoch FROM accounts_account account
LEFT JOIN accounts_epochchange change ON change.account_id = account.id AND change.epoch > %s
  AND change.epoch <= account.epoch AND change.epoch > account.epoch - {MAX_MISSED}
WHERE account.id = %s"""  # noqa: S608 - made of constants


def hold(account_id: str) -> int:
    """Lock the account's epoch until the transaction ends, and return it.

    Writes that lock the same rows as checks do (requesters, revenue totals) call it first, so that all of them lock in
    the same order. Decisions of requesters that are new, or have a new name, wait for them.
    """
    epoch = Account.objects.select_for_update(no_key=True).values_list("epoch", flat=True).get(pk=account_id)
    if connection.vendor == "postgresql":
        with prepared_cursor() as cursor:
            cursor.execute(HOLD, [str(UUID(ids.hex_of("acc", account_id)))])
    return epoch


def keep(account_id: str) -> bool:
    """Keep the account from being deleted until the transaction ends. Return whether it still exists.

    A request that writes calls it before it locks anything else, as the deletion locks the account first. Requests of
    one account do not wait for each other here.
    """
    with prepared_cursor() as cursor:
        cursor.execute(KEEP[connection.vendor], [account_key(account_id)])
        return cursor.fetchone() is not None


def bump(account_id: str, names: Collection[str] | None) -> None:
    """End what processes have cached of these things of the account, as of the commit; EVERYTHING ends all of it.

    No names, no end: nobody has cached what did not exist. Call it last in the transaction: it locks the account's
    row, which serializes the writes of an account.
    """
    if names is not EVERYTHING and not names:
        return
    key = account_key(account_id)
    told = None if names is EVERYTHING else orjson.dumps(sorted(names)).decode()
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    with prepared_cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(POSTGRESQL, [key, told, now])
            return
        with transaction.atomic(savepoint=False):
            cursor.execute(RAISE, [key])
            cursor.execute(SQLITE, [told, now, key])


def account_key(account_id: str) -> object:
    return Account._meta.pk.get_db_prep_value(account_id, connection)


@dataclass(frozen=True, slots=True)
class Changes:
    """What has changed of an account up to `epoch`: names, with the epoch of the last change; None for everything."""

    epoch: int
    names: Mapping[str, int] | None

    @classmethod
    def of(cls, known: int, rows: Iterable[Sequence[str | bytes | None]]) -> "Changes | None":
        """Of the rows of SINCE; None where the account is no more."""
        found: dict[int, str | bytes | None] = {}
        epoch: int | None = None
        for newest, names, changed_at in rows:
            epoch = int(newest or 0)
            if changed_at is not None:
                found[int(changed_at)] = names
        if epoch is None:
            return None
        if len(found) < epoch - known or None in found.values():
            return cls(epoch, EVERYTHING)
        return cls(epoch, {name: at for at in sorted(found) for name in orjson.loads(found[at] or b"[]")})


def changes_since(account_id: str, known: int) -> Changes | None:
    """What has changed since an epoch; None where the account is no more."""
    with prepared_cursor() as cursor:
        cursor.execute(SINCE, [known, account_key(account_id)])
        return Changes.of(known, cursor.fetchall())


def forget_changes() -> None:
    """Deletes what no process is likely to ask for any more."""
    with turn_to_write():
        EpochChange.objects.filter(created__lt=timezone.now() - LIFETIME).delete()
