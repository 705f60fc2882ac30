"""Erase stored idempotent replies. They are encrypted, so each is decrypted to see whether it names the person."""

from collections.abc import Callable

from cryptography.fernet import InvalidToken

from accounts.retries.idempotency import PURPOSE
from accounts.retries.models import IdempotencyRecord
from accounts.sealing import reply_sealer

ROWS = 500


def erase_replies(account_id: str, names_person: Callable[[bytes], bool]) -> None:
    """Empty the account's kept replies for which `names_person` is true. A retry is refused then."""
    sealer = reply_sealer(PURPOSE)
    rows = IdempotencyRecord.objects.filter(account_id=account_id).order_by("key")
    last = ""
    while records := list(rows.filter(key__gt=last)[:ROWS]):
        erased = []
        for record in records:
            try:
                reply = sealer.decrypt(bytes(record.reply))
            except InvalidToken:
                continue  # it was encrypted under another secret, or erased before: nobody can read it
            if names_person(reply):
                erased.append(record.key)
        rows.filter(key__in=erased).update(reply=b"", headers=None)
        last = records[-1].key
