"""Redact stored idempotent replies. They are encrypted, so each is decrypted to see whether it names the person."""

from collections.abc import Callable

from cryptography.fernet import InvalidToken

from accounts.retries.idempotency import PURPOSE
from accounts.retries.models import IdempotencyRecord
from accounts.sealing import reply_sealer

ROWS = 500


def redact_replies(account_id: str, text: str, redact: Callable[[bytes], bytes]) -> int:
    """Replace the account's kept replies that contain `text` by what `redact` makes of them; return their number."""
    sealer, wanted, redacted = reply_sealer(PURPOSE), text.encode(), 0
    rows = IdempotencyRecord.objects.filter(account_id=account_id).order_by("key")
    last = ""
    while records := list(rows.filter(key__gt=last)[:ROWS]):
        for record in records:
            try:
                reply = sealer.decrypt(bytes(record.reply))
            except InvalidToken:
                continue  # it was sealed under another secret, and nobody can read it
            if wanted in reply:
                kept = IdempotencyRecord.objects.filter(account_id=account_id, key=record.key)
                kept.update(reply=sealer.encrypt(redact(reply)), headers=None)
                redacted += 1
        last = records[-1].key
    return redacted
