"""`Idempotency-Key`: a retried POST is answered with its first reply and writes nothing again (docs/api-guide.md).

The record is inserted first and filled in last, in the transaction of the work itself. So a crash leaves both or
neither, and the database makes a second request with the same key wait for the first: PostgreSQL on the unique index,
SQLite on its one write lock.
"""

import re
from collections.abc import Callable
from decimal import Context
from hashlib import blake2b
from typing import Any

import orjson
from cryptography.fernet import InvalidToken
from django.db import IntegrityError, OperationalError, connection, transaction
from django.http import HttpResponse
from django.utils import timezone
from prometheus_client import Counter
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import IdempotencyRecord
from accounts.sealing import sealer
from kit.http.errors import IdempotencyConflict, IdempotencyMismatch, InvalidRequest, ValidationFailed
from kit.http.parsing import read_object
from kit.http.rendering import render_json

HEADER = "Idempotency-Key"
PURPOSE = "idempotent-reply"  # of what is sealed
IS_KEY = re.compile(r"[\x21-\x7e]{1,255}").fullmatch
KEPT_HEADERS = ("ETag", "Location")
WAIT_SECONDS = 5
# Bytes of a reply that is kept: more than all items that a body of 1 MiB can create.
MAX_REPLY = 2 * 1024 * 1024

replays = Counter("licensing_idempotent_replays", "Retries answered with the reply to the first request.")


def requested_key(request: Request) -> str | None:
    """The request's key, if it has one. Raises InvalidRequest."""
    key = request.headers.get(HEADER)
    if key is not None and not IS_KEY(key):
        raise InvalidRequest("Idempotency-Key takes 1 to 255 visible ASCII characters.", param=HEADER)
    return key


def fingerprint(request: Request) -> bytes:
    """What makes two requests the same: method, path and the body's meaning (not its spacing or order of keys)."""
    is_empty = not request._request.body  # where the address says all
    fields = {} if is_empty else read_object(request._request, exact=True)  # two amounts may be one float
    body = orjson.dumps(fields, default=number, option=orjson.OPT_SORT_KEYS)
    return blake2b(f"{request.method} {request.path}\n".encode() + body, digest_size=32).digest()


def number(value: Any) -> orjson.Fragment:
    """A Decimal, however many zeros it was written with."""
    return orjson.Fragment(str(value.normalize(Context(prec=len(value.as_tuple().digits)))))


def claim(account_id: str, key: str, digest: bytes) -> tuple[IdempotencyRecord, bool]:
    """This key's record, locked until the transaction ends, and whether it is this request's to fill."""
    now = timezone.now()
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")
    record = None
    try:
        while record is None:
            try:
                with transaction.atomic():
                    fresh = IdempotencyRecord(account_id=account_id, key=key, fingerprint=digest, created=now)
                    fresh.save(force_insert=True)
                    record, mine = fresh, True
            except IntegrityError:
                # None if the clean-up has just taken it away.
                record = IdempotencyRecord.objects.select_for_update().filter(account_id=account_id, key=key).first()
                mine = record is not None and record.has_expired(now)
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) == "55P03":  # lock_not_available
            raise IdempotencyConflict(
                "The first request with this Idempotency-Key is still running.", retry_after=1
            ) from None
        raise
    if mine:
        record.fingerprint, record.created = digest, now
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = DEFAULT")
    return record, mine


def answer_once(
    request: Request, key: str, act: Callable[[], Response], check_replay: Callable[[bytes], None]
) -> HttpResponse:
    """The reply of `act`, or of the request that used this key before. Call it inside a transaction.

    `check_replay` gets the body of a kept reply before anybody sees it, and raises for what this request may not have.
    """
    digest = fingerprint(request)
    grant: Any = request.auth
    record, mine = claim(grant.account_id, key, digest)
    if mine:
        response = act()
        reply = render_json(response.data)
        if len(reply) > MAX_REPLY:  # whatever was written is rolled back
            raise ValidationFailed(
                f"The reply is larger than the {MAX_REPLY >> 20} MiB that are kept for a retry, so nothing was done. "
                f"Ask for less at once, such as fewer checks or rows, or no explanations, or leave out the {HEADER}.",
                param=HEADER,
            )
        record.status = response.status_code
        record.reply = sealer(PURPOSE).encrypt(reply)
        headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
        record.headers = sealer(PURPOSE).encrypt(render_json(headers))
        record.save()
        return response
    if bytes(record.fingerprint) != digest:
        raise IdempotencyMismatch("This Idempotency-Key was used for another request.")
    try:
        reply = sealer(PURPOSE).decrypt(bytes(record.reply))
        headers = orjson.loads(sealer(PURPOSE).decrypt(bytes(record.headers))) if record.headers else {}
    except InvalidToken:
        # To run it again could write twice what was written once.
        raise IdempotencyConflict("The kept reply cannot be read: the server's secret has changed.") from None
    check_replay(reply)
    replays.inc()
    headers["Idempotent-Replayed"] = "true"
    return HttpResponse(reply, status=record.status, content_type="application/json", headers=headers)
