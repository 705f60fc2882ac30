"""`Idempotency-Key`: a retried POST gets the first reply and writes nothing (docs/reference/api.md).

The record is inserted first and completed last, in the transaction of the work. A crash leaves both or neither, and
the database makes a concurrent request with the same key wait: PostgreSQL on the unique index, SQLite on its write
lock. Records expire after `IdempotencyRecord.LIFETIME`.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Context, Decimal
from hashlib import blake2b
from http import HTTPStatus
from typing import NamedTuple
from uuid import UUID

import orjson
from cryptography.fernet import InvalidToken
from django.db import OperationalError, connection
from django.http import HttpResponse
from django.utils import timezone
from prometheus_client import Counter
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.authentication import get_grant, license_token
from accounts.plans.models import Account
from accounts.retries.models import IdempotencyRecord
from accounts.sealing import reply_sealer
from kit.http.errors import IdempotencyConflict, IdempotencyMismatch, InvalidRequest, ValidationFailed
from kit.http.parsing import read_object
from kit.http.rendering import render_json
from kit.storage.lock_waits import transaction_lock_timeout
from kit.storage.postgresql.advisory_locks import lock_name, try_to_lock_name
from kit.storage.reading import stored_now
from kit.values import ids

HEADER = "Idempotency-Key"
PURPOSE = "idempotent-reply"  # of the encryption key
match_key = re.compile(r"[\x21-\x7e]{1,255}").fullmatch
# A key as a string of RFC 9651, as draft-ietf-httpapi-idempotency-key-header writes it.
match_quoted_key = re.compile(r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"').fullmatch
ESCAPED_CHARACTER = re.compile(r"\\(.)")
KEPT_HEADERS = ("ETag", "Location")
REPLAYED = {"Idempotent-Replayed": "true"}
WAIT_SECONDS = 5
# Largest reply in bytes that is stored; larger than the reply to any body of 1 MiB that creates items.
MAX_REPLY = 2 * 1024 * 1024
# Claims keys that are new or whose record has expired, and returns those. It waits for transactions that claim them.
CLAIM = """INSERT INTO accounts_idempotencyrecord AS known (account_id, key, fingerprint, status, reply, created)
  {keys}
  ON CONFLICT (account_id, key) DO UPDATE SET
    fingerprint = excluded.fingerprint, status = excluded.status, reply = excluded.reply, headers = NULL,
    created = excluded.created
  WHERE known.created <= {oldest}
  RETURNING account_id, key"""
CLAIM_KEY = CLAIM.format(keys="VALUES (%s, %s, %s, 0, %s, %s)", oldest="%s")


class RecordKey(NamedTuple):
    account_id: str
    key: str


replays = Counter("licensing_idempotent_replays", "Retries answered with the reply to the first request.")


class KeyTaken(IdempotencyConflict):
    """Another request holds the key; nothing was done."""

    def __init__(self) -> None:
        super().__init__("The first request with this Idempotency-Key is still running.", retry_after=1)


def check_key(key: str | None) -> str | None:
    """Return the key, which may be quoted, or None. Raises InvalidRequest if it is not a valid key."""
    quoted = None if key is None else match_quoted_key(key)
    if quoted is not None:
        key = ESCAPED_CHARACTER.sub(r"\1", quoted[1])
    if key is not None and not match_key(key):
        raise InvalidRequest("Idempotency-Key takes 1 to 255 visible ASCII characters.", param=HEADER)
    return key


def fingerprint(method: str, path: str, fields: object, token: str | None = None) -> bytes:
    """Return a digest of what makes requests the same: method, path, parsed body and licence token.

    Spacing and order of keys in the body do not matter. Numbers in `fields` must be exact, because different amounts
    may be equal as floats.
    """
    body = orjson.dumps(fields, default=render_exact_decimal, option=orjson.OPT_SORT_KEYS)
    head = f"{method} {path}\n"
    if token is not None:  # the token determines the requester
        head += f"{token}\n"
    return blake2b(head.encode() + body, digest_size=32).digest()


def request_fingerprint(request: Request, *, has_rows: bool) -> bytes:
    is_empty = not request._request.body  # requests without a body
    fields = {} if is_empty else read_object(request._request, exact=True, has_rows=has_rows)
    token = license_token(request.META.get("HTTP_AUTHORIZATION", ""))
    return fingerprint(str(request.method), request.path, fields, token)


def render_exact_decimal(value: object) -> orjson.Fragment:
    """Render a Decimal without trailing zeros. Raises TypeError for other types that JSON lacks."""
    if not isinstance(value, Decimal):
        raise TypeError(f"A body has no {type(value).__name__}.")
    return orjson.Fragment(str(value.normalize(Context(prec=len(value.as_tuple().digits)))))


def claim(account_id: str, key: str, digest: bytes) -> IdempotencyRecord | None:
    """Claim the key, which this transaction must then complete. Returns its record instead if it has been used.

    The record is locked until the transaction ends. Raises KeyTaken if another transaction holds it for long.
    """
    now = timezone.now()
    created = connection.ops.adapt_datetimefield_value(now)
    oldest = connection.ops.adapt_datetimefield_value(now - IdempotencyRecord.LIFETIME)
    account = Account._meta.pk.get_db_prep_value(account_id, connection)
    try:
        with transaction_lock_timeout(f"{WAIT_SECONDS}s"), connection.cursor() as cursor:
            lock_name(lock_name_for(account_id, key))  # checks skip locked keys instead of waiting for the row
            cursor.execute(CLAIM_KEY, [account, key, digest, b"", created, oldest])
            is_claimed = cursor.fetchone() is not None
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) == "55P03":  # lock_not_available
            raise KeyTaken from None
        raise
    # PostgreSQL has locked the row, though it did not update it, so that a purge cannot delete it meanwhile.
    return None if is_claimed else IdempotencyRecord.objects.get(account_id=account_id, key=key)


def keep_reply(
    account_id: str, key: str, reply: bytes, headers: bytes | None = None, status: int = HTTPStatus.OK
) -> None:
    """Store the encrypted reply of the claimed key."""
    claimed = IdempotencyRecord.objects.filter(account_id=account_id, key=key)
    claimed.update(status=status, reply=reply, headers=headers)


def lock_name_for(account_id: str, key: str) -> str:
    return str(UUID(ids.id_to_hex("acc", account_id))) + key


def encrypt_reply(reply: bytes) -> bytes:
    """Encrypt a reply for storage. Raises ValidationFailed if it is too large, before anything is committed."""
    if len(reply) > MAX_REPLY:
        raise ValidationFailed(
            f"The reply is larger than the {MAX_REPLY >> 20} MiB that are kept for a retry, so nothing was done. "
            f"Ask for less at once, such as fewer checks or rows, or no explanations, or leave out the {HEADER}.",
            param=HEADER,
        )
    return reply_sealer(PURPOSE).encrypt(reply)


def decrypt_reply(record: IdempotencyRecord, digest: bytes) -> tuple[bytes, dict[str, str]]:
    """Return the stored body and headers for a retry whose fingerprint is `digest`.

    Raises IdempotencyMismatch for another request, IdempotencyConflict if the reply cannot be decrypted.
    """
    if bytes(record.fingerprint) != digest:
        raise IdempotencyMismatch("This Idempotency-Key was used for another request.")
    sealer = reply_sealer(PURPOSE)
    try:
        body = sealer.decrypt(bytes(record.reply))
        headers: dict[str, str] = orjson.loads(sealer.decrypt(bytes(record.headers))) if record.headers else {}
    except InvalidToken:
        cause = "the server's secret has changed" if record.reply else "a customer that it named was erased"
        # Running it again could write twice.
        raise IdempotencyConflict(
            f"The kept reply cannot be read: {cause}. "
            "Look up what the first request did before you send another with a new Idempotency-Key."
        ) from None
    return body, {**headers, **REPLAYED}


def replay(record: IdempotencyRecord, digest: bytes) -> tuple[bytes, dict[str, str]]:
    """Return the body and headers of `decrypt_reply`, and count the replay."""
    body, headers = decrypt_reply(record, digest)
    replays.inc()
    return body, headers


def try_run_once(account_id: str, key: str, digest: bytes, act: Callable[[], bytes]) -> tuple[bytes, dict[str, str]]:
    """Return the body that `act` builds, or the stored one with its headers. Call it inside a transaction.

    Does not wait for another request with the key. Raises KeyTaken, IdempotencyMismatch and IdempotencyConflict.
    """
    if not try_to_lock_name(lock_name_for(account_id, key)):
        raise KeyTaken
    record = claim(account_id, key, digest)
    if record is not None:
        return replay(record, digest)
    body = act()
    keep_reply(account_id, key, encrypt_reply(body))
    return body, {}


def find_records(keys: Sequence[RecordKey]) -> list[IdempotencyRecord | None]:
    """Return the record of each key, unless it has expired or the key is free."""
    now = timezone.now()
    stored = IdempotencyRecord.objects.filter(pk__in=list(set(keys)))
    current = {(record.account_id, record.key): record for record in stored if not record.has_expired(now)}
    return [current.get(key) for key in keys]


def run_once(
    request: Request,
    key: str,
    act: Callable[[], HttpResponse],
    check_replay: Callable[[bytes], None],
    *,
    resume: Callable[[bytes], None],
    has_rows: bool,
) -> HttpResponse:
    """Return the reply of `act`, or of the earlier request with this key. Call it inside a transaction.

    Waits up to WAIT_SECONDS for another request with the key. `check_replay` receives a stored body first and raises
    an ApiError if this request may not see it. `has_rows`: the body is a batch (see kit.http.parsing.read_object). A
    reply with status PARTIAL covers a part of the work: the next call passes it to `resume` and calls `act` again.
    """
    account_id = get_grant(request).account_id
    digest = request_fingerprint(request, has_rows=has_rows)
    record = claim(account_id, key, digest)
    if record is None:
        response = act()
        keep_response(account_id, key, response, is_part=is_partial(response))
        return response
    reply, headers = decrypt_reply(record, digest)
    check_replay(reply)
    if record.status == IdempotencyRecord.PARTIAL:
        resume(reply)
        response = act()
        keep_response(account_id, key, response, is_part=True)
        return response
    replays.inc()
    return HttpResponse(reply, status=record.status, content_type="application/json", headers=headers)


def is_partial(response: HttpResponse) -> bool:
    """Return whether the response covers only a part of the work."""
    return response.status_code == IdempotencyRecord.PARTIAL


def keep_response(account_id: str, key: str, response: HttpResponse, *, is_part: bool) -> None:
    """Store the response for the claimed key. A part's has no limit, because other parts are committed already."""
    if not isinstance(response, Response):
        raise TypeError("Only a reply in JSON can be kept.")
    sealer = reply_sealer(PURPOSE)
    reply = render_json(response.data)
    headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    sealed = sealer.encrypt(reply) if is_part else encrypt_reply(reply)
    keep_reply(account_id, key, sealed, sealer.encrypt(render_json(headers)), response.status_code)


def purge(now: datetime | None = None) -> int:
    """Delete expired records; return their number."""
    oldest = (now or stored_now()) - IdempotencyRecord.LIFETIME
    return IdempotencyRecord.objects.filter(created__lte=oldest).delete()[0]
