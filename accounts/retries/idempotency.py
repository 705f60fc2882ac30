"""`Idempotency-Key`: a retried POST gets the first reply and writes nothing (docs/reference/api.md).

The record is inserted first and completed last, in the transaction of the work. A crash leaves both or neither, and
the database makes a concurrent request with the same key wait: PostgreSQL on the unique index, SQLite on its write
lock.
"""

import re
from collections.abc import Callable
from datetime import datetime
from decimal import Context, Decimal
from hashlib import blake2b
from http import HTTPStatus
from uuid import UUID

import orjson
from cryptography.fernet import InvalidToken
from django.db import IntegrityError, OperationalError, connection, transaction
from django.http import HttpResponse
from django.utils import timezone
from prometheus_client import Counter
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.authentication import grant_of, license_token
from accounts.retries.models import IdempotencyRecord
from accounts.sealing import reply_sealer
from kit.http.errors import IdempotencyConflict, IdempotencyMismatch, InvalidRequest, ValidationFailed
from kit.http.parsing import read_object
from kit.http.rendering import render_json
from kit.storage.reading import stored_now
from kit.values import ids

HEADER = "Idempotency-Key"
PURPOSE = "idempotent-reply"  # of the encryption key
IS_KEY = re.compile(r"[\x21-\x7e]{1,255}").fullmatch
# A key as a string of RFC 9651, as draft-ietf-httpapi-idempotency-key-header writes it.
QUOTED = re.compile(r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"').fullmatch
ESCAPED = re.compile(r"\\(.)")
KEPT_HEADERS = ("ETag", "Location")
REPLAYED = {"Idempotent-Replayed": "true"}
WAIT_SECONDS = 5
# Largest reply in bytes that is stored; larger than the reply to any body of 1 MiB that creates items.
MAX_REPLY = 2 * 1024 * 1024

replays = Counter("licensing_idempotent_replays", "Retries answered with the reply to the first request.")


class KeyTaken(IdempotencyConflict):
    """Another request holds the key; nothing was done."""

    def __init__(self) -> None:
        super().__init__("The first request with this Idempotency-Key is still running.", retry_after=1)


def check_key(key: str | None) -> str | None:
    """Return the key, which may be quoted, or None. Raises InvalidRequest if it is not a valid key."""
    quoted = None if key is None else QUOTED(key)
    if quoted is not None:
        key = ESCAPED.sub(r"\1", quoted[1])
    if key is not None and not IS_KEY(key):
        raise InvalidRequest("Idempotency-Key takes 1 to 255 visible ASCII characters.", param=HEADER)
    return key


def fingerprint(method: str, path: str, fields: object, token: str | None = None) -> bytes:
    """Return a digest of what makes requests the same: method, path, parsed body and licence token.

    Spacing and order of keys in the body do not matter. Numbers in `fields` must be exact, because different amounts
    may be equal as floats.
    """
    body = orjson.dumps(fields, default=number, option=orjson.OPT_SORT_KEYS)
    told = f"{method} {path}\n"
    if token is not None:  # the token determines the requester
        told += f"{token}\n"
    return blake2b(told.encode() + body, digest_size=32).digest()


def fingerprint_of(request: Request, *, has_rows: bool) -> bytes:
    is_empty = not request._request.body  # requests without a body
    fields = {} if is_empty else read_object(request._request, exact=True, has_rows=has_rows)
    token = license_token(request.META.get("HTTP_AUTHORIZATION", ""))
    return fingerprint(str(request.method), request.path, fields, token)


def number(value: object) -> orjson.Fragment:
    """Render a Decimal without trailing zeros. Raises TypeError for other types that JSON lacks."""
    if not isinstance(value, Decimal):
        raise TypeError(f"A body has no {type(value).__name__}.")
    return orjson.Fragment(str(value.normalize(Context(prec=len(value.as_tuple().digits)))))


def claim(account_id: str, key: str, digest: bytes) -> tuple[IdempotencyRecord, bool]:
    """Return the key's record, locked until the transaction ends, and whether this request must fill it."""
    now = timezone.now()
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")
    record = None
    try:
        lock_key(account_id, key)
        while record is None:
            try:
                with transaction.atomic():
                    fresh = IdempotencyRecord(account_id=account_id, key=key, fingerprint=digest, created=now)
                    fresh.save(force_insert=True)
                    record, mine = fresh, True
            except IntegrityError:
                # None if the purge has just deleted it.
                record = IdempotencyRecord.objects.select_for_update().filter(account_id=account_id, key=key).first()
                mine = record is not None and record.has_expired(now)
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) == "55P03":  # lock_not_available
            raise KeyTaken from None
        raise
    if mine:
        record.fingerprint, record.created = digest, now
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = DEFAULT")
    return record, mine


def lock_key(account_id: str, key: str) -> None:
    """Lock the key until the transaction ends. Checks skip locked keys instead of waiting for the row."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name_of_lock(account_id, key)])


def try_to_lock_key(account_id: str, key: str) -> bool:
    """Lock the key until the transaction ends. Returns False if another transaction holds it."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [name_of_lock(account_id, key)])
        return bool(cursor.fetchone()[0])


def name_of_lock(account_id: str, key: str) -> str:
    return str(UUID(ids.hex_of("acc", account_id))) + key


def seal_reply(reply: bytes) -> bytes:
    """Encrypt a reply for storage. Raises ValidationFailed if it is too large, before anything is committed."""
    if len(reply) > MAX_REPLY:
        raise ValidationFailed(
            f"The reply is larger than the {MAX_REPLY >> 20} MiB that are kept for a retry, so nothing was done. "
            f"Ask for less at once, such as fewer checks or rows, or no explanations, or leave out the {HEADER}.",
            param=HEADER,
        )
    return reply_sealer(PURPOSE).encrypt(reply)


def open_reply(fingerprint: bytes, reply: bytes, headers: bytes | None, digest: bytes) -> tuple[bytes, dict[str, str]]:
    """Return the stored body and headers for a retry whose fingerprint is `digest`.

    Raises IdempotencyMismatch for another request, IdempotencyConflict if the reply cannot be decrypted.
    """
    if fingerprint != digest:
        raise IdempotencyMismatch("This Idempotency-Key was used for another request.")
    try:
        body = reply_sealer(PURPOSE).decrypt(reply)
        told: dict[str, str] = orjson.loads(reply_sealer(PURPOSE).decrypt(headers)) if headers else {}
    except InvalidToken:
        # Running it again could write twice.
        raise IdempotencyConflict(
            "The kept reply cannot be read: the server's secret has changed. "
            "Look up what the first request did before you send another with a new Idempotency-Key."
        ) from None
    return body, {**told, **REPLAYED}


def open_record(record: IdempotencyRecord, digest: bytes) -> tuple[bytes, dict[str, str]]:
    """Do the same for a record of the ORM."""
    headers = bytes(record.headers) if record.headers else None
    return open_reply(bytes(record.fingerprint), bytes(record.reply), headers, digest)


def reply_once(account_id: str, key: str, digest: bytes, act: Callable[[], bytes]) -> tuple[bytes, dict[str, str]]:
    """Return the body that `act` makes, or the stored one with its headers. Call it inside a transaction.

    Does not wait for another request with the key. Raises KeyTaken, IdempotencyMismatch and IdempotencyConflict.
    """
    if not try_to_lock_key(account_id, key):
        raise KeyTaken
    record, mine = claim(account_id, key, digest)
    if not mine:
        reply = open_record(record, digest)
        replays.inc()
        return reply
    body = act()
    record.status, record.reply, record.headers = HTTPStatus.OK, seal_reply(body), None
    record.save()
    return body, {}


def stored_reply(account_id: str, key: str, digest: bytes) -> tuple[bytes, dict[str, str]] | None:
    """Return the stored reply with its headers, or None if the key is free.

    Raises IdempotencyMismatch and IdempotencyConflict.
    """
    record = IdempotencyRecord.objects.filter(account_id=account_id, key=key).first()
    if record is None or record.has_expired(timezone.now()):
        return None
    reply = open_record(record, digest)
    replays.inc()
    return reply


def answer_once(
    request: Request,
    key: str,
    act: Callable[[], HttpResponse],
    check_replay: Callable[[bytes], None],
    *,
    resume: Callable[[bytes], None] | None = None,
    has_rows: bool = False,
) -> HttpResponse:
    """Return the reply of `act`, or of the earlier request with this key. Call it inside a transaction.

    `check_replay` receives a stored body first and raises an ApiError if this request may not see it. `has_rows` is
    that of `parse_object`. A reply with status PROCESSING is that of a part of the work: the next call passes it to
    `resume` and calls `act` again.
    """
    digest = fingerprint_of(request, has_rows=has_rows)
    record, mine = claim(grant_of(request).account_id, key, digest)
    if mine:
        response = act()
        return keep_reply(record, response, is_part=response.status_code == HTTPStatus.PROCESSING)
    reply, headers = open_record(record, digest)
    check_replay(reply)
    if record.status == HTTPStatus.PROCESSING and resume is not None:
        resume(reply)
        return keep_reply(record, act(), is_part=True)
    replays.inc()
    return HttpResponse(reply, status=record.status, content_type="application/json", headers=headers)


def keep_reply(record: IdempotencyRecord, response: HttpResponse, *, is_part: bool) -> HttpResponse:
    """Store the reply in the record. A part's reply has no limit, because other parts are committed already."""
    if not isinstance(response, Response):
        raise TypeError("Only a reply in JSON can be kept.")
    record.status = response.status_code
    reply = render_json(response.data)
    record.reply = reply_sealer(PURPOSE).encrypt(reply) if is_part else seal_reply(reply)
    headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    record.headers = reply_sealer(PURPOSE).encrypt(render_json(headers))
    record.save()
    return response


def purge(now: datetime | None = None) -> int:
    """Delete the records older than 24 hours; return their number."""
    oldest = (now or stored_now()) - IdempotencyRecord.LIFETIME
    return IdempotencyRecord.objects.filter(created__lte=oldest).delete()[0]
