"""An endpoint's signing secrets and the headers that its receiver asks for, both sealed in the database."""

import secrets
from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson

from accounts.sealing import sealer
from kit.values.timestamps import parse_timestamp, render_timestamp

PREFIX = "whsec_"
SECRET_BYTES = 32
OVERLAP = timedelta(hours=24)  # for which a former secret still signs
MOST_SECRETS = 5  # that sign at a time, however often they are rotated
PURPOSE = "webhook"


@dataclass(frozen=True, slots=True)
class Secret:
    """`until` is None for the current one."""

    text: str
    until: datetime | None

    def __repr__(self) -> str:
        return f"Secret({PREFIX}…, until {self.until})"


def generate() -> str:
    return PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def seal(value: object) -> bytes:
    return sealer(PURPOSE).encrypt(orjson.dumps(value))


def unsealed(sealed: bytes | memoryview) -> bytes:
    """Raises InvalidToken if the server's secret has changed since."""
    return sealer(PURPOSE).decrypt(bytes(sealed))


def new_secrets() -> tuple[bytes, str]:
    """The sealed secrets of a new endpoint, and the text of the one that there is."""
    text = generate()
    return seal_secrets([Secret(text, None)]), text


def rotated(sealed: bytes | memoryview, now: datetime) -> tuple[bytes, str]:
    """The secrets with a new one; the former ones still sign for OVERLAP."""
    text = generate()
    former = [Secret(one.text, one.until or now + OVERLAP) for one in open_secrets(sealed, now)]
    return seal_secrets([Secret(text, None), *former][:MOST_SECRETS]), text


def seal_secrets(valid: list[Secret]) -> bytes:
    return seal([[one.text, render_timestamp(one.until)] for one in valid])


def open_secrets(sealed: bytes | memoryview, now: datetime) -> list[Secret]:
    """The secrets that sign now, the current one first."""
    kept: list[tuple[str, str | None]] = orjson.loads(unsealed(sealed))
    known = [Secret(text, parse_timestamp(until) if until else None) for text, until in kept]
    return [one for one in known if one.until is None or one.until > now]


def open_headers(sealed: bytes | memoryview | None) -> dict[str, str]:
    return {} if sealed is None else orjson.loads(unsealed(sealed))
