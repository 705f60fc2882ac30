"""Time-based codes (TOTP, RFC 6238: SHA-1, 30 seconds, six digits), as every authenticator app supports."""

import hmac
import secrets
import time
from base64 import b32decode, b32encode

from pyotp import TOTP

STEP = 30  # seconds
DIGITS = 6
SECRET_BYTES = 20
DRIFT = 1  # steps that a phone's clock may be off


def new_secret() -> bytes:
    return secrets.token_bytes(SECRET_BYTES)


def generator(secret: bytes) -> TOTP:
    return TOTP(as_text(secret), digits=DIGITS, interval=STEP)


def code_at(secret: bytes, step: int) -> str:
    return generator(secret).generate_otp(step)


def time_step(secret: bytes, code: str, now: float | None = None) -> int | None:
    """Return the step of a currently valid code, or None; pyotp's own `verify` does not return it."""
    current = int(time.time() if now is None else now) // STEP
    for step in range(current - DRIFT, current + DRIFT + 1):
        if hmac.compare_digest(code_at(secret, step).encode(), code.encode()):
            return step
    return None


def as_text(secret: bytes) -> str:
    """Return the secret as people type it."""
    return b32encode(secret).decode()


def from_text(text: str) -> bytes:
    return b32decode(text)


def address(secret: bytes, username: str, issuer: str) -> str:
    """Return the otpauth: URI for the QR code."""
    return generator(secret).provisioning_uri(name=username, issuer_name=issuer)
