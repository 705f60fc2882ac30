"""Encryption of what the database keeps and must not reveal: secrets that are read again, and replies with secrets."""

from base64 import urlsafe_b64encode
from functools import lru_cache
from hashlib import sha256

from cryptography.fernet import Fernet
from django.conf import settings


def sealer(purpose: str) -> Fernet:
    """A key of its own for each purpose, so that nothing sealed for one can stand in for another."""
    return sealer_under(purpose, settings.API_KEY_PEPPER)


@lru_cache(maxsize=16)
def sealer_under(purpose: str, pepper: bytes) -> Fernet:
    return Fernet(urlsafe_b64encode(sha256(f"{purpose}:".encode() + pepper).digest()))
