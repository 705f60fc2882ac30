"""The orders of a list, and the signed cursors that point behind a row."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import date, datetime
from hashlib import sha256
from typing import TypeVar

from django.conf import settings
from django.db.models import AutoField, F, Model, QuerySet
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan

from kit.http.errors import InvalidRequest
from kit.storage.code_points import by_code_point
from kit.values import ids
from kit.values.timestamps import EPOCH, MICROSECOND

SIGNATURE_BYTES = 16
ID_BYTES = 16
M = TypeVar("M", bound=Model)


def sign(scope: str, payload: bytes) -> bytes:
    key = sha256(b"cursor:" + settings.SECRET_KEY.encode()).digest()
    return hmac.digest(key, len(scope).to_bytes(4) + scope.encode() + payload, "sha256")[:SIGNATURE_BYTES]


def as_text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


class Moments:
    """A column of timestamps to sort by."""

    column = staticmethod(F)

    @staticmethod
    def encode(value: datetime) -> bytes:
        return ((value - EPOCH) // MICROSECOND).to_bytes(8, signed=True)

    @staticmethod
    def decode(raw: bytes) -> datetime:
        return EPOCH + int.from_bytes(raw, signed=True) * MICROSECOND


class Days:
    """A column of dates to sort by."""

    column = staticmethod(F)

    @staticmethod
    def encode(value: date) -> bytes:
        return value.toordinal().to_bytes(4)

    @staticmethod
    def decode(raw: bytes) -> date:
        return date.fromordinal(int.from_bytes(raw))


class TextsInOrder:
    """A column of text to sort by, in the order of code points."""

    column = staticmethod(by_code_point)
    encode = staticmethod(str.encode)
    decode = staticmethod(bytes.decode)


@dataclass(frozen=True)
class Order:
    """What a list is sorted by: a column that is never null, then the id, both in one direction.

    An index of both in either direction serves it.
    """

    field: str
    kind: type[Moments] | type[Days] | type[TextsInOrder] = Moments
    descending: bool = True

    def sorted(self, queryset: QuerySet[M]) -> QuerySet[M]:
        keys = (self.kind.column(self.field), F("id"))
        return queryset.order_by(*(key.desc() if self.descending else key.asc() for key in keys))

    def after(self, queryset: QuerySet[M], value: object, key: str | int) -> QuerySet[M]:
        """The rows behind the one with that value and id."""
        is_behind = TupleLessThan if self.descending else TupleGreaterThan
        return queryset.filter(is_behind(Tuple(self.kind.column(self.field), F("id")), (value, key)))

    def after_row(self, queryset: QuerySet[M], row: M) -> QuerySet[M]:
        return self.after(queryset, getattr(row, self.field), row.pk)


def encode_cursor(scope: str, value: bytes, raw_id: bytes) -> str:
    payload = value + raw_id
    return as_text(payload + sign(scope, payload))


def decode_cursor(scope: str, text: str) -> tuple[bytes, bytes]:
    """The value and the id of the row it points behind.

    Raises InvalidRequest for everything but a cursor that was made for this scope.
    """
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except ValueError:
        raw = b""
    if as_text(raw) != text:  # the decoder skips what is no digit, and the last digit's spare bits
        raw = b""
    payload, signature = raw[:-SIGNATURE_BYTES], raw[-SIGNATURE_BYTES:]
    if not hmac.compare_digest(sign(scope, payload), signature):
        raise InvalidRequest(
            "This is not a cursor of this list. Use nextCursor as it came, with the same filters and sort.",
            param="cursor",
        )
    return payload[:-ID_BYTES], payload[-ID_BYTES:]


def encode_key(row: Model) -> bytes:
    """The row's primary key in 16 bytes: an id's UUID, or a number."""
    if isinstance(row.pk, int):
        return row.pk.to_bytes(ID_BYTES)
    return ids.decode(ids.prefix_of(type(row)), row.pk) or b""


def decode_key(model: type[Model], raw: bytes) -> str | int:
    """The primary key that encode_key has encoded."""
    return int.from_bytes(raw) if isinstance(model._meta.pk, AutoField) else ids.encode(ids.prefix_of(model), raw)
