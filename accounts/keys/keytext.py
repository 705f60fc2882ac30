"""The format of API keys and similar secrets: type prefix, 28 random base62 characters (166 bits), 6 of checksum.

The checksum rejects mistyped and invented keys without a query, and lets secret scanners recognise leaked ones. The
database stores an HMAC-SHA-256 of the text, with a pepper that is not in the database.
"""

import hmac
import re
import secrets
import string
from zlib import crc32

from django.conf import settings

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
TYPE_PREFIXES = {"secret": "svc_sk_", "public": "svc_pk_"}
CLIENT_PREFIX = "svc_cs_"  # secrets of OAuth clients, which are not API keys
RANDOM_CHARACTERS = 28
CHECKSUM_CHARACTERS = 6
PREFIX_CHARACTERS = len("svc_sk_") + 6
KEY_LENGTH = len("svc_sk_") + RANDOM_CHARACTERS + CHECKSUM_CHARACTERS
MALFORMED_MESSAGE = (
    f"This API key is not valid: it is mistyped or incomplete. A key is {' or '.join(TYPE_PREFIXES.values())} "
    f"and {RANDOM_CHARACTERS + CHECKSUM_CHARACTERS} letters and digits, without quotes or brackets."
)
API_KEYS = re.compile(f"svc_[sp]k_[0-9A-Za-z]{{{RANDOM_CHARACTERS + CHECKSUM_CHARACTERS}}}")
SECRET_PART = re.compile(r"svc_(?:sk|pk|cs)_[0-9A-Za-z]{7,}")


def checksum(text: str) -> str:
    """Return the CRC-32 of the text in base62, six characters long."""
    value = crc32(text.encode())
    characters = ""
    for _ in range(CHECKSUM_CHARACTERS):
        value, digit = divmod(value, 62)
        characters = BASE62[digit] + characters
    return characters


def generate(key_type: str, seed: str | None = None) -> str:
    """Generate a key. The same secret seed and pepper reproduce the same key."""
    if seed is None:
        number = secrets.randbelow(62**RANDOM_CHARACTERS)
    else:
        # 256 bits, 90 more than the key has, so that all keys are equally likely.
        number = int.from_bytes(hmac.digest(settings.API_KEY_PEPPER, f"key text:{seed}".encode(), "sha256"))
    characters = ""
    for _ in range(RANDOM_CHARACTERS):
        number, digit = divmod(number, 62)
        characters += BASE62[digit]
    prefix = CLIENT_PREFIX if key_type == "client" else TYPE_PREFIXES[key_type]
    return prefix + characters + checksum(prefix + characters)


def is_well_formed(text: str, prefixes: tuple[str, ...] = tuple(TYPE_PREFIXES.values())) -> bool:
    """Whether the text has the form of an API key, or of a secret with one of these prefixes."""
    return (
        len(text) == KEY_LENGTH
        and text.isascii()
        and text.startswith(prefixes)
        and hmac.compare_digest(checksum(text[:-CHECKSUM_CHARACTERS]), text[-CHECKSUM_CHARACTERS:])
    )


def key_within(text: str) -> str | None:
    """Return the first API key in a text, such as a log line."""
    return next(filter(is_well_formed, API_KEYS.findall(text)), None)


def shows_secret(text: str) -> bool:
    """Whether the text contains a key or client secret, or more of one than its prefix."""
    return SECRET_PART.search(text) is not None


def digest(text: str) -> bytes:
    return hmac.digest(settings.API_KEY_PEPPER, text.encode(), "sha256")


def former_digests(text: str) -> list[bytes]:
    """Return the digests with the former peppers, for keys that were not used since the pepper changed."""
    return [hmac.digest(pepper, text.encode(), "sha256") for pepper in settings.FORMER_PEPPERS]
