"""Erase stored idempotent replies. They are encrypted, so each is decrypted to see whether it names the person."""

from collections.abc import Callable

from cryptography.fernet import InvalidToken

from accounts.retries.idempotency import PURPOSE
from accounts.retries.models import IdempotencyRecord
from accounts.sealing import reply_sealer

BATCH_ROWS = 500


def find_replies(name_person: Callable[[bytes], bool], account_id: str) -> list[str]:
    """Return the keys of the account's kept replies for which `name_person` is true."""
    sealer = reply_sealer(PURPOSE)
    keys = []
    last = ""
    rows = IdempotencyRecord.objects.filter(account_id=account_id).order_by("key")
    while records := list(rows.filter(key__gt=last)[:BATCH_ROWS]):
        for record in records:
            try:
                reply = sealer.decrypt(bytes(record.reply))
            except InvalidToken:
                continue  # it was encrypted under another secret, or erased before: nobody can read it
            if name_person(reply):
                keys.append(record.key)
        last = records[-1].key
    return keys


def erase_replies(account_id: str, keys: list[str]) -> None:
    """Empty the replies kept for these keys. A retry is refused then."""
    for first in range(0, len(keys), BATCH_ROWS):
        records = IdempotencyRecord.objects.filter(account_id=account_id, key__in=keys[first : first + BATCH_ROWS])
        records.update(reply=b"", headers=None)
