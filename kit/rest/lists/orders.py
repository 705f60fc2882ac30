"""Sort orders of lists, and signed cursors that point behind a row."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import date, datetime
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from django.conf import settings
from django.db.models import AutoField, F, Model, QuerySet
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan

from kit.http.errors import InvalidRequest
from kit.storage.code_points import by_code_point
from kit.storage.limited import planned
from kit.storage.replica import reading_connection
from kit.values import ids
from kit.values.timestamps import EPOCH, MICROSECOND

SIGNATURE_BYTES = 16
INDEX_ORDER_SETTINGS = {"enable_sort": "off", "enable_seqscan": "off", "enable_material": "off"}
ID_BYTES = 16
M = TypeVar("M", bound=Model)
R = TypeVar("R")


def sign(scope: str, payload: bytes) -> bytes:
    key = sha256(b"cursor:" + settings.SECRET_KEY.encode()).digest()
    return hmac.digest(key, len(scope).to_bytes(4) + scope.encode() + payload, "sha256")[:SIGNATURE_BYTES]


def as_text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


class Moments:
    """Sorts by a column of timestamps."""

    column = staticmethod(F)

    @staticmethod
    def encode(value: datetime) -> bytes:
        return ((value - EPOCH) // MICROSECOND).to_bytes(8, signed=True)

    @staticmethod
    def decode(raw: bytes) -> datetime:
        return EPOCH + int.from_bytes(raw, signed=True) * MICROSECOND


class Days:
    """Sorts by a column of dates."""

    column = staticmethod(F)

    @staticmethod
    def encode(value: date) -> bytes:
        return value.toordinal().to_bytes(4)

    @staticmethod
    def decode(raw: bytes) -> date:
        return date.fromordinal(int.from_bytes(raw))


class TextsInOrder:
    """Sorts by a column of text in the order of code points."""

    column = staticmethod(by_code_point)
    encode = staticmethod(str.encode)
    decode = staticmethod(bytes.decode)


class Position(NamedTuple):
    """A row's place in a list: its value of the order's column, and its id."""

    value: Any
    key: str | int


@dataclass(frozen=True)
class Order:
    """A list's order: by a column that is never null, then by id, in the same direction.

    One index on both columns serves either direction.
    """

    field: str
    kind: type[Moments] | type[Days] | type[TextsInOrder] = Moments
    descending: bool = True

    def sorted(self, queryset: QuerySet[M]) -> QuerySet[M]:
        keys = (self.kind.column(self.field), F("id"))
        return queryset.order_by(*(key.desc() if self.descending else key.asc() for key in keys))

    def after(self, queryset: QuerySet[M], position: Position) -> QuerySet[M]:
        """Return the rows behind a position."""
        is_behind = TupleLessThan if self.descending else TupleGreaterThan
        return queryset.filter(is_behind(Tuple(self.kind.column(self.field), F("id")), position))

    def position(self, row: Model) -> Position:
        return Position(getattr(row, self.field), row.pk)


def read_in_order(rows: QuerySet[M, R]) -> list[R]:
    """Return the first rows of a sorted queryset, read by the index that has its order, and joined by indexes.

    PostgreSQL would sort or compare all rows if it expected few, as it does after an import until autovacuum has
    counted them.
    """
    using = reading_connection()
    with planned(using, INDEX_ORDER_SETTINGS):
        return list(rows)


def encode_cursor(scope: str, value: bytes, raw_id: bytes) -> str:
    payload = value + raw_id
    return as_text(payload + sign(scope, payload))


def decode_cursor(scope: str, text: str) -> tuple[bytes, bytes]:
    """Return the encoded value and id of the row that a cursor points behind.

    Raises InvalidRequest unless the cursor was signed for this scope.
    """
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except ValueError:
        raw = b""
    if as_text(raw) != text:  # the decoder skips invalid characters and ignores the last digit's spare bits
        raw = b""
    payload, signature = raw[:-SIGNATURE_BYTES], raw[-SIGNATURE_BYTES:]
    if not hmac.compare_digest(sign(scope, payload), signature):
        raise InvalidRequest(
            "This is not a cursor of this list. Use nextCursor as it came, with the same filters and sort.",
            param="cursor",
        )
    return payload[:-ID_BYTES], payload[-ID_BYTES:]


def encode_key(row: Model) -> bytes:
    """Encode a row's primary key in 16 bytes: the UUID of an id, or a number."""
    if isinstance(row.pk, int):
        return row.pk.to_bytes(ID_BYTES)
    return ids.decode(ids.id_prefix(type(row)), row.pk) or b""


def decode_key(model: type[Model], raw: bytes) -> str | int:
    """Return the primary key encoded by encode_key."""
    return int.from_bytes(raw) if isinstance(model._meta.pk, AutoField) else ids.encode(ids.id_prefix(model), raw)
