"""TypeIDs (version 0.3 of the specification): a type prefix and a UUIDv7 in 26 lower-case Crockford base32 characters,
as in `cnt_01k9…`.

Databases store the bare 128 bits (`uuid` on PostgreSQL, a 16-byte blob on SQLite) to keep indexes small; everything
else uses the text. Every UUID has exactly one text, and texts sort by creation time, to the millisecond.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import Any, TypedDict, Unpack
from uuid import UUID

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql.compiler import SQLCompiler
from uuid_utils import uuid7

CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
FROM_CROCKFORD = str.maketrans(CROCKFORD, "0123456789abcdefghijklmnopqrstuv")  # the digits that int() uses for base 32
PAIRS = [first + second for first in CROCKFORD for second in CROCKFORD]  # ten bits each
THREE_PAIRS = 2**30 - 1
TRIPLES = [f"{number:03x}" for number in range(4096)]  # three hexadecimal digits, twelve bits each
# 26 characters hold 130 bits; a UUID leaves the first two unused.
TEXT = "[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}"
match_id = re.compile(TEXT).fullmatch
RawId = UUID | bytes  # as returned by a database
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def encode(prefix: str, value: bytes) -> str:
    """Encode 16 bytes as an id."""
    # Thirteen pairs of digits. Unrolled it takes a third of a loop's time, and every decision has an id.
    # Python computes fast with integers of up to 30 bits, which are three pairs.
    number = int.from_bytes(value)
    a = number >> 90 & THREE_PAIRS
    b = number >> 60 & THREE_PAIRS
    c = number >> 30 & THREE_PAIRS
    d = number & THREE_PAIRS
    return (
        f"{prefix}_{PAIRS[value[0]]}{PAIRS[a >> 20]}{PAIRS[a >> 10 & 1023]}{PAIRS[a & 1023]}"
        f"{PAIRS[b >> 20]}{PAIRS[b >> 10 & 1023]}{PAIRS[b & 1023]}{PAIRS[c >> 20]}{PAIRS[c >> 10 & 1023]}"
        f"{PAIRS[c & 1023]}{PAIRS[d >> 20]}{PAIRS[d >> 10 & 1023]}{PAIRS[d & 1023]}"
    )


encode_stored = lru_cache(maxsize=512)(encode)  # rows of a list have their account in common, and many their policy


def decode(prefix: str, text: object) -> bytes | None:
    """Return the 16 bytes of an id, or None if it is not an id with this prefix."""
    if not isinstance(text, str) or not text.startswith(f"{prefix}_"):
        return None
    digits = text[len(prefix) + 1 :]
    if not match_id(digits):
        return None
    return int(digits.translate(FROM_CROCKFORD), 32).to_bytes(16)


def raw_bytes(key: RawId) -> bytes:
    """Return the 16 bytes of an id as a database returns it."""
    return key.bytes if isinstance(key, UUID) else bytes(key)


def first_uuid(moment: datetime) -> UUID:
    """Return the smallest UUID of an id of that millisecond, or of 1970 for earlier times."""
    return UUID(int=max(0, (moment - EPOCH) // MILLISECOND) << 80)


def first_id(prefix: str, moment: datetime) -> str:
    """Return the smallest id of that millisecond. Ids created earlier sort before it."""
    return encode(prefix, first_uuid(moment).bytes)


def id_to_hex(prefix: str, text: str) -> str:
    """Return the UUID of an id in hex; empty if it is not valid."""
    return (decode(prefix, text) or b"").hex()


@lru_cache(maxsize=16)  # all checks of a batch share one time
def to_nanoseconds(moment: datetime) -> int:
    """Return the nanoseconds since 1970, from which ids of that moment are made."""
    return int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * 1_000


def successive(prefix: str, count: int, nanoseconds: int) -> tuple[list[str], list[str]]:
    """Return `count` (at most 1024) consecutive ids for a time in nanoseconds since 1970, and their UUIDs in hex.

    They count up from one UUIDv7, so they sort in order and each costs a fraction of a separate one.
    """
    raw = uuid7(nanoseconds=nanoseconds).bytes
    text = encode(prefix, raw)
    key = raw.hex()
    if count == 1:
        return [text], [key]
    low = int(key[-3:], 16)  # ten bits for the text's last pair of digits, and two bits of the pair before
    first = min(low & 1023, 1024 - count)
    texts = [text[:-2] + pair for pair in PAIRS[first : first + count]]
    first += low & ~1023
    return texts, [key[:-3] + digits for digits in TRIPLES[first : first + count]]


def new_key(nanoseconds: int) -> str:
    """Return a new UUID in hex for a time in nanoseconds since 1970, where no text of the id is needed."""
    return uuid7(nanoseconds=nanoseconds).hex


def new_id(prefix: str) -> str:
    return encode(prefix, uuid7().bytes)


class KeyOptions(TypedDict, total=False):
    """The options of an IdField."""

    verbose_name: str
    primary_key: bool
    serialize: bool
    editable: bool
    auto_created: bool


class IdField(models.Field):
    """A primary key whose Python value is the id's text; foreign keys to it behave the same."""

    def __init__(self, prefix: str = "", **options: Unpack[KeyOptions]) -> None:
        self.prefix = prefix
        options.setdefault("editable", False)
        super().__init__(default=partial(new_id, prefix), **options)

    def deconstruct(self) -> tuple[str, str, Sequence[object], dict[str, object]]:
        name, path, args, kwargs = super().deconstruct()
        del kwargs["default"]
        return name, path, args, {**kwargs, "prefix": self.prefix}

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "uuid" if connection.features.has_native_uuid_field else "blob"

    def get_db_prep_value(
        self, value: object, connection: BaseDatabaseWrapper, prepared: bool = False
    ) -> UUID | bytes | str | None:
        if value is None:
            return None
        raw = decode(self.prefix, value)
        if raw is None:
            raise ValueError(f"{value!r} is no id with the prefix {self.prefix}_.")
        return UUID(bytes=raw) if connection.features.has_native_uuid_field else raw

    def from_db_value(self, value: RawId | None, expression: object, connection: BaseDatabaseWrapper) -> str | None:
        return None if value is None else encode_stored(self.prefix, raw_bytes(value))

    def to_python(self, value: object) -> object:
        return value


def id_prefix(model: type[models.Model]) -> str:
    """Return the prefix of a model's ids. Raises TypeError if its key is another field."""
    key = model._meta.pk
    if not isinstance(key, IdField):
        raise TypeError(f"{model.__name__} has no id of its own.")
    return key.prefix


class DerivedIdField(IdField):
    """An id computed in SQL from the row's key.

    SQLite cannot build a blob from parts, so it stores hexadecimal text.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return connection.data_types["UUIDField"]

    def get_db_prep_value(
        self, value: object, connection: BaseDatabaseWrapper, prepared: bool = False
    ) -> UUID | bytes | str | None:
        stored = super().get_db_prep_value(value, connection, prepared)
        return stored.hex() if isinstance(stored, bytes) else stored

    def from_db_value(
        self, value: RawId | str | None, expression: object, connection: BaseDatabaseWrapper
    ) -> str | None:
        return super().from_db_value(bytes.fromhex(value) if isinstance(value, str) else value, expression, connection)


class AnyIdField(models.Field):
    """A reference by id to any kind of resource, or by name to something without an id.

    An id is stored as a zero byte, its prefix and its 16 bytes; other text is stored unchanged and never begins with
    U+0000.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return connection.data_types["BinaryField"].lower()

    def get_db_prep_value(
        self, value: str | None, connection: BaseDatabaseWrapper, prepared: bool = False
    ) -> bytes | None:
        if value is None:
            return None
        prefix = value.partition("_")[0]
        raw = decode(prefix, value)
        return value.encode() if raw is None else b"\0" + prefix.encode() + raw

    def from_db_value(
        self, value: bytes | memoryview | None, expression: object, connection: BaseDatabaseWrapper
    ) -> str | None:
        if value is None:
            return None
        stored = bytes(value)
        return encode(stored[1:-16].decode(), stored[-16:]) if stored[:1] == b"\0" else stored.decode()


class RandomKey(models.Func):
    """A random UUID that the database makes."""

    template = "gen_random_uuid()"
    output_field = models.UUIDField()

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any) -> tuple[str, Any]:
        return self.as_sql(compiler, connection, template="(lower(hex(randomblob(16))))", **context)
