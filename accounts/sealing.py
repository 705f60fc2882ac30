"""Sealing what the database keeps and must not tell: secrets that are read again, and replies that hold some."""

from base64 import urlsafe_b64encode
from hashlib import sha256

from cryptography.fernet import Fernet
from django.conf import settings


def sealer(purpose: str) -> Fernet:
    """A key of its own for each purpose, so that nothing sealed for one can stand in for another."""
    return Fernet(urlsafe_b64encode(sha256(f"{purpose}:".encode() + settings.API_KEY_PEPPER).digest()))
