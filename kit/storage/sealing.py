"""Secrets at rest: encrypted by a key that hangs on the server's secret and on what they are for."""

from base64 import urlsafe_b64encode
from hashlib import sha256

from cryptography.fernet import Fernet
from django.conf import settings


def sealer(purpose: str) -> Fernet:
    """What seals and opens secrets of that purpose. Raises InvalidToken once the server's secret changed."""
    return Fernet(urlsafe_b64encode(sha256(f"{purpose}:".encode() + settings.API_KEY_PEPPER).digest()))
