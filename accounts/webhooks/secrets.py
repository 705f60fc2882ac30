"""An endpoint's signing secrets and custom headers, both stored encrypted."""

import secrets
from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson
from cryptography.fernet import InvalidToken

from accounts.sealing import sealer
from kit.values.timestamps import parse_timestamp, render_timestamp

PREFIX = "whsec_"
SECRET_BYTES = 32
OVERLAP = timedelta(hours=24)  # how long a rotated secret continues to sign
MAX_SECRETS = 5  # limit of secrets that sign at the same time
PURPOSE = "webhook"


@dataclass(frozen=True, slots=True)
class Secret:
    """A signing secret. `until` is None for the current one."""

    text: str
    until: datetime | None

    def __repr__(self) -> str:
        return f"Secret({PREFIX}…, until {self.until})"


def generate() -> str:
    return PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def seal(value: object) -> bytes:
    return sealer(PURPOSE).encrypt(orjson.dumps(value))


def unseal(sealed: bytes | memoryview) -> bytes:
    """Decrypt a value. Raises InvalidToken if the server's secret has changed since."""
    return sealer(PURPOSE).decrypt(bytes(sealed))


def is_readable(sealed: bytes | memoryview | None) -> bool:
    """Return whether the value can be decrypted; True if there is none."""
    try:
        return sealed is None or bool(unseal(sealed))
    except InvalidToken:
        return False


def create_secrets() -> tuple[bytes, str]:
    """Generate a new endpoint's secret; return the encrypted list and the secret's text."""
    text = generate()
    return seal_secrets([Secret(text, None)]), text


def add_secret(sealed: bytes | memoryview, now: datetime) -> tuple[bytes, str]:
    """Add a new secret; return the encrypted list and its text.

    The former secrets sign for OVERLAP, or are dropped if they cannot be read because the pepper changed.
    """
    text = generate()
    current = readable_secrets(sealed, now)
    former = [Secret(secret.text, secret.until or now + OVERLAP) for secret in current]
    return seal_secrets([Secret(text, None), *former][:MAX_SECRETS]), text


def seal_secrets(valid: list[Secret]) -> bytes:
    return seal([[secret.text, render_timestamp(secret.until)] for secret in valid])


def open_secrets(sealed: bytes | memoryview, now: datetime) -> list[Secret]:
    """Return the secrets that currently sign, newest first. Raises InvalidToken like `unseal`."""
    rows: list[tuple[str, str | None]] = orjson.loads(unseal(sealed))
    stored = [Secret(text, parse_timestamp(until) if until else None) for text, until in rows]
    return [secret for secret in stored if secret.until is None or secret.until > now]


def readable_secrets(sealed: bytes | memoryview, now: datetime) -> list[Secret]:
    """Return the secrets that currently sign; none if they cannot be decrypted."""
    try:
        return open_secrets(sealed, now)
    except InvalidToken:
        return []


def open_headers(sealed: bytes | memoryview | None) -> dict[str, str]:
    """Return the custom headers. Raises InvalidToken like `unseal`."""
    if sealed is None:
        return {}
    return orjson.loads(unseal(sealed))


def readable_headers(sealed: bytes | memoryview | None) -> dict[str, str] | None:
    """Return the custom headers, or None if they cannot be decrypted and have to be set again."""
    try:
        return open_headers(sealed)
    except InvalidToken:
        return None
