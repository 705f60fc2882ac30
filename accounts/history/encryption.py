"""Encrypt texts with the keys of all customers that they name. Without one of the keys, nobody can read the text."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from os import urandom
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV

from accounts.history.people import Person

NONCE_BYTES = 12


@lru_cache(maxsize=1_024)
def build_cipher(*keys: UUID) -> AESGCMSIV:
    return AESGCMSIV(sha256(b"".join(key.bytes for key in keys)).digest())


def cipher_of(people: Sequence[Person | None]) -> AESGCMSIV | None:
    """Return the cipher that needs all their keys; None if one is gone."""
    keys = {person.number: person.key for person in people if person is not None and person.key is not None}
    if len(keys) < len(people):
        return None
    return build_cipher(*(keys[number] for number in sorted(keys)))


def seal(text: str, people: Sequence[Person | None]) -> bytes:
    """Encrypt a text. Returns an empty one if a key is gone."""
    cipher = cipher_of(people)
    if cipher is None:
        return b""
    nonce = urandom(NONCE_BYTES)
    return nonce + cipher.encrypt(nonce, text.encode(), None)


def unseal(sealed: bytes, people: Sequence[Person | None]) -> str | None:
    """Decrypt a text. Returns None if one of the customers has been erased since."""
    cipher = cipher_of(people)
    if cipher is None or not sealed:
        return None
    try:
        return cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], None).decode()
    except InvalidTag:
        return None
