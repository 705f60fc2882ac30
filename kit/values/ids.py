"""Identifiers are TypeIDs (version 0.3 of the TypeID specification): a type prefix and a UUIDv7 in 26 lower-case
Crockford base32 characters, as in `cnt_01k9…`.

In the database an id is the bare 128 bits (`uuid` on PostgreSQL, a 16-byte blob on SQLite), so that indexes stay
small; everywhere else it is its text. Every UUID has exactly one text, and texts sort by time of creation.
"""

import re
from functools import partial
from typing import Any
from uuid import UUID

from django.db import models
from uuid_utils import uuid7

CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
FROM_CROCKFORD = str.maketrans(CROCKFORD, "0123456789abcdefghijklmnopqrstuv")  # what int() takes for digits of base 32
PAIRS = [first + second for first in CROCKFORD for second in CROCKFORD]  # ten bits each
# 26 characters hold 130 bits, of which a UUID leaves the first two unused.
TEXT = "[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}"
IS_TEXT = re.compile(TEXT).fullmatch


def encode(prefix: str, value: bytes) -> str:
    """The text of 16 bytes."""
    high, low = int.from_bytes(value[:8]), int.from_bytes(value)
    # Thirteen pairs of digits; an unrolled loop takes a third of the time, and every decision has an id.
    return (
        f"{prefix}_{PAIRS[high >> 56]}{PAIRS[high >> 46 & 1023]}{PAIRS[high >> 36 & 1023]}{PAIRS[high >> 26 & 1023]}"
        f"{PAIRS[high >> 16 & 1023]}{PAIRS[high >> 6 & 1023]}{PAIRS[low >> 60 & 1023]}{PAIRS[low >> 50 & 1023]}"
        f"{PAIRS[low >> 40 & 1023]}{PAIRS[low >> 30 & 1023]}{PAIRS[low >> 20 & 1023]}{PAIRS[low >> 10 & 1023]}"
        f"{PAIRS[low & 1023]}"
    )


def decode(prefix: str, text: object) -> bytes | None:
    """The 16 bytes of an id's text; None for what cannot be an id of that prefix."""
    if not isinstance(text, str) or not text.startswith(f"{prefix}_"):
        return None
    digits = text[len(prefix) + 1 :]
    if not IS_TEXT(digits):
        return None
    return int(digits.translate(FROM_CROCKFORD), 32).to_bytes(16)


def hex_of(prefix: str, text: str) -> str:
    """The UUID of an id, in hex; empty for what cannot be one."""
    return (decode(prefix, text) or b"").hex()


def new_id(prefix: str) -> str:
    return encode(prefix, uuid7().bytes)


class IdField(models.Field):
    """A primary key whose Python value is the id's text; foreign keys to it behave alike."""

    def __init__(self, prefix: str = "", **kwargs: Any) -> None:
        self.prefix = prefix
        kwargs["default"] = partial(new_id, prefix)
        kwargs.setdefault("editable", False)
        super().__init__(**kwargs)

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        name, path, args, kwargs = super().deconstruct()
        del kwargs["default"]
        return name, path, args, {**kwargs, "prefix": self.prefix}

    def db_type(self, connection: Any) -> str:
        return "uuid" if connection.vendor == "postgresql" else "blob"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        if value is None:
            return None
        raw = decode(self.prefix, value)
        if raw is None:
            raise ValueError(f"{value!r} is no id with the prefix {self.prefix}_.")
        return UUID(bytes=raw) if connection.vendor == "postgresql" else raw

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> str | None:
        if value is None:
            return None
        return encode(self.prefix, value.bytes if isinstance(value, UUID) else bytes(value))

    def to_python(self, value: Any) -> Any:
        return value


class AnyIdField(models.Field):
    """A reference by id to a resource of any kind, or to something that has another name.

    An id is stored as a zero byte, its prefix and its 16 bytes; any other text as it is, for none begins with U+0000.
    """

    def db_type(self, connection: Any) -> str:
        return "bytea" if connection.vendor == "postgresql" else "blob"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        if value is None:
            return None
        prefix = value.partition("_")[0]
        raw = decode(prefix, value)
        return value.encode() if raw is None else b"\0" + prefix.encode() + raw

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> str | None:
        if value is None:
            return None
        stored = bytes(value)
        return encode(stored[1:-16].decode(), stored[-16:]) if stored[:1] == b"\0" else stored.decode()
