"""The keys that crawlers publish (Web Bot Auth): fetched off the way of a request, and kept.

A directory is at a URL that a visitor names, so it is fetched by the guarded client (kit.outbound), and how often is
bounded. A first visit finds no keys yet; a fetch that fails never takes away what is known.
"""

import asyncio
import logging
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from collections.abc import Awaitable, Callable
from hashlib import sha256
from time import monotonic, time
from typing import Any

import msgspec
import orjson
from cachetools import LRUCache
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from msgspec import Struct

from kit.outbound.client import Client, Reply, Unreachable
from kit.outbound.destinations import Refused, check_url
from licensing.access.tokens.key_pairs import encoded

PATH = "/.well-known/http-message-signatures-directory"
MEDIA_TYPES = ("application/http-message-signatures-directory+json", "application/json")
SECONDS, MOST_BYTES = 3, 64 * 1024  # of a fetch
FRESH_SECONDS, FAILED_SECONDS = 3_600, 300  # that keys, and a failure, are kept before the directory is asked again
KNOWN_SECONDS = 24 * 3_600  # that keys are used while their directory cannot be read
MOST_KEYS, MOST_DIRECTORIES, MOST_FETCHES = 100, 1_000, 8  # the last at a time

Fetch = Callable[[str], Awaitable[Reply]]
logger = logging.getLogger(__name__)


class PublishedKey(Struct, frozen=True):
    """A key of a directory, and when it is valid (Unix seconds)."""

    key: Ed25519PublicKey
    begins: float = 0
    ends: float = float("inf")


Keys = dict[str, PublishedKey]  # by their RFC 7638 thumbprints


class Known(Struct):
    """What is known of a directory. Times are monotonic seconds."""

    keys: Keys
    read_at: float = -float("inf")
    ask_again_at: float = -float("inf")


async def fetch(url: str) -> Reply:
    headers = {"Accept": MEDIA_TYPES[0], "User-Agent": "content-access-licensing"}
    return await Client().send("GET", url, headers, seconds=SECONDS, most_bytes=MOST_BYTES + 1)


class Directories:
    """Those that visitors have named, by their origins. Every method is called on the event loop."""

    def __init__(self, fetch: Fetch = fetch) -> None:
        self.fetch = fetch
        self.known: LRUCache[str, Known] = LRUCache(MOST_DIRECTORIES)
        self.fetching: dict[str, asyncio.Task[None]] = {}

    def find(self, origin: str, keyid: str) -> Ed25519PublicKey | None:
        """The origin's key, None for none that is known yet; what is not known or not fresh is fetched meanwhile."""
        known, now = self.known.get(origin), monotonic()
        if known is None or (now >= known.ask_again_at):
            self.refresh(origin)
        if known is None or now - known.read_at > KNOWN_SECONDS:
            return None
        found = known.keys.get(keyid)
        return found.key if found is not None and found.begins <= time() < found.ends else None

    def refresh(self, origin: str) -> None:
        if origin not in self.fetching and len(self.fetching) < MOST_FETCHES:
            self.fetching[origin] = asyncio.get_running_loop().create_task(self.read(origin))

    async def read(self, origin: str) -> None:
        known = self.known.get(origin) or Known({})
        try:
            known.keys = keys_of(await self.fetch(f"{origin}{PATH}"))
            known.read_at = monotonic()
            known.ask_again_at = known.read_at + FRESH_SECONDS
        except (Refused, Unreachable, ValueError) as error:
            known.ask_again_at = monotonic() + FAILED_SECONDS
            logger.info("The key directory of %s could not be read: %s", origin, error)
        finally:
            del self.fetching[origin]
        self.known[origin] = known


def origin_of(agent: str) -> str:
    """The origin that a Signature-Agent names. Raises Refused."""
    parts = check_url(agent)
    if parts.path not in ("", "/") or parts.query:
        raise Refused("Must be an origin such as https://signer.example.")
    return f"https://{parts.netloc.lower()}"


def keys_of(reply: Reply) -> Keys:
    """The Ed25519 keys of a directory. Raises ValueError for a reply that is none."""
    media = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if reply.status != 200 or media not in MEDIA_TYPES:
        raise ValueError(f"It answered {reply.status} {media[:100]}.")
    if len(reply.body) > MOST_BYTES:
        raise ValueError(f"It is larger than {MOST_BYTES:,} bytes.")
    try:
        told = msgspec.json.decode(reply.body, type=dict[str, Any])
        entries = msgspec.convert(told.get("keys"), list[dict[str, Any]])
    except msgspec.DecodeError:
        raise ValueError("It is no JWK set.") from None
    return dict(filter(None, map(key_of, entries[:MOST_KEYS])))


def key_of(jwk: dict[str, Any]) -> tuple[str, PublishedKey] | None:
    """A JSON Web Key with its thumbprint; None for one of another kind."""
    if jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519":
        return None
    try:
        text = msgspec.convert(jwk.get("x"), str)
        raw = urlsafe_b64decode(f"{text}{'=' * (-len(text) % 4)}")
        begins, ends = (msgspec.convert(jwk.get(name, default), float) for name, default in TIMES)
        key = PublishedKey(Ed25519PublicKey.from_public_bytes(raw), begins, ends)
    except (Base64Error, ValueError):
        return None
    return thumbprint(raw), key


TIMES = (("nbf", 0.0), ("exp", float("inf")))


def thumbprint(raw: bytes) -> str:
    """The RFC 7638 thumbprint of an Ed25519 key."""
    members = {"crv": "Ed25519", "kty": "OKP", "x": encoded(raw)}
    return encoded(sha256(orjson.dumps(members, option=orjson.OPT_SORT_KEYS)).digest())
