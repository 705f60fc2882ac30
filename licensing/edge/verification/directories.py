"""Key directories of crawlers (Web Bot Auth), fetched in the background and cached.

Visitors name the directory's URL, so it is fetched by the guarded client (kit.outbound) with limits on frequency and
concurrency. The first visit therefore finds no keys yet. A failed fetch never discards known keys.
"""

import asyncio
import logging
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from hashlib import sha256
from ipaddress import ip_network
from time import monotonic, time
from typing import Any

import msgspec
import orjson
from cachetools import LRUCache
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from msgspec import Struct

from kit.http.headers import parse_address
from kit.outbound.client import Client, Reply, Unreachable, trusted_certificates
from kit.outbound.destinations import DestinationRefused, check_url
from licensing.access.tokens.signing import encode_base64url
from licensing.edge.current_crawlers import current_table

PATH = "/.well-known/http-message-signatures-directory"
MEDIA_TYPES = ("application/http-message-signatures-directory+json", "application/json")
SECONDS, MAX_BYTES = 3, 64 * 1024  # of a fetch
FRESH_SECONDS, FAILED_SECONDS = 3_600, 300  # before keys, or a failure, are fetched again
KNOWN_SECONDS = 24 * 3_600  # how long keys stay valid while their directory is unreachable
MAX_KEYS, MAX_DIRECTORIES, MAX_FAILURES = 100, 1_000, 10_000
MAX_FETCHES = 8  # concurrent fetches: of new directories, and as many of known ones
MAX_FIRST_FETCHES, MAX_FETCHES_OF_NETWORK = 64, 2  # running or queued
NETWORK_BITS = {4: 24, 6: 64}

Fetch = Callable[[str], Awaitable[Reply]]
logger = logging.getLogger(__name__)


class PublishedKey(Struct, frozen=True):
    """A published key and its validity period (Unix seconds)."""

    key: Ed25519PublicKey
    begins: float = 0
    ends: float = float("inf")


Keys = dict[str, PublishedKey]  # by RFC 7638 thumbprint


class CachedDirectory(Struct):
    """A fetched directory. Times are monotonic seconds."""

    keys: Keys
    read_at: float
    ask_again_at: float


async def fetch(url: str) -> Reply:
    headers = {"Accept": MEDIA_TYPES[0], "User-Agent": "content-access-licensing"}
    certificates = await asyncio.to_thread(trusted_certificates)  # loading them would block the event loop
    return await Client(certificates=certificates).send("GET", url, headers, seconds=SECONDS, most_bytes=MAX_BYTES + 1)


class Directories:
    """The directories that visitors have named, by origin. All methods run on the event loop.

    Directories of listed crawlers (licensing.edge.crawlers) are never evicted and are fetched immediately. Known
    directories have fetch slots of their own. First fetches of other directories queue, with a limit per visitor
    network. Failures are cached separately and evict no directory.
    """

    def __init__(self, fetch: Fetch = fetch) -> None:
        self.fetch = fetch
        self.listed: dict[str, CachedDirectory] = {}
        self.known: LRUCache[str, CachedDirectory] = LRUCache(MAX_DIRECTORIES)
        self.failed: LRUCache[str, float] = LRUCache(MAX_FAILURES)  # monotonic time of the next attempt
        self.fetching: dict[str, asyncio.Task[None]] = {}
        self.first_fetches: Counter[str | None] = Counter()  # running or queued, by visitor network
        self.turns, self.turns_of_known = asyncio.Semaphore(MAX_FETCHES), asyncio.Semaphore(MAX_FETCHES)

    def find(self, origin: str, keyid: str, address: str | None = None) -> Ed25519PublicKey | None:
        """Return the origin's key, or None if it is not known yet. Starts a background fetch if it is unknown or
        stale.

        `address` is that of the visitor who names the origin.
        """
        directory, now = self.get(origin), monotonic()
        if now >= (self.failed.get(origin, 0.0) if directory is None else directory.ask_again_at):
            self.refresh(origin, address)
        if directory is None or now - directory.read_at > KNOWN_SECONDS:
            return None
        published = directory.keys.get(keyid)
        return published.key if published is not None and published.begins <= time() < published.ends else None

    def get(self, origin: str) -> CachedDirectory | None:
        return self.listed.get(origin) or self.known.get(origin)

    def refresh(self, origin: str, address: str | None = None) -> None:
        """Fetch the directory in the background, unless it is already being fetched or a limit is reached."""
        if origin in self.fetching:
            return
        coroutine: Coroutine[None, None, None]
        if is_listed(origin):
            coroutine = self.read(origin)
        elif self.get(origin) is not None:
            coroutine = self.read_in_turn(origin, self.turns_of_known)
        else:
            network = visitor_network(address)
            if network is not None and self.first_fetches[network] >= MAX_FETCHES_OF_NETWORK:
                return
            if self.first_fetches.total() >= MAX_FIRST_FETCHES:
                return
            self.first_fetches[network] += 1
            coroutine = self.read_first(origin, network)
        task = self.fetching[origin] = asyncio.get_running_loop().create_task(coroutine)
        task.add_done_callback(lambda _: self.fetching.pop(origin))

    async def read_first(self, origin: str, network: str | None) -> None:
        try:
            await self.read_in_turn(origin, self.turns)
        finally:
            self.first_fetches[network] -= 1
            self.first_fetches += Counter()  # drops zero counts

    async def read_in_turn(self, origin: str, turns: asyncio.Semaphore) -> None:
        async with turns:
            await self.read(origin)

    async def read(self, origin: str) -> None:
        former = self.get(origin)
        try:
            keys = parse_keys(await self.fetch(f"{origin}{PATH}"))
            if former is None and not keys:
                raise ValueError("It has no keys.")
        except (DestinationRefused, Unreachable, ValueError) as error:
            if former is None:
                self.failed[origin] = monotonic() + FAILED_SECONDS
            else:
                former.ask_again_at = monotonic() + FAILED_SECONDS
            logger.info("The key directory of %s could not be read: %s", origin, error)
            return
        now = monotonic()
        cache = self.listed if is_listed(origin) else self.known
        cache[origin] = CachedDirectory(keys, read_at=now, ask_again_at=now + FRESH_SECONDS)


def is_listed(origin: str) -> bool:
    """Whether a listed crawler signs with the origin's keys."""
    return origin.removeprefix("https://") in current_table.get().by_directory


def visitor_network(address: str | None) -> str | None:
    """Return the network of an address, because one visitor may control all of it; None for None."""
    parsed = parse_address(address) if address is not None else None
    return None if parsed is None else str(ip_network((parsed, NETWORK_BITS[parsed.version]), strict=False))


def origin_of(agent: str) -> str:
    """Return the origin that a Signature-Agent names. Raises Refused."""
    parts = check_url(agent)
    if parts.path not in ("", "/") or parts.query:
        raise DestinationRefused("Must be an origin such as https://signer.example.")
    return f"https://{parts.netloc.lower()}"


def parse_keys(reply: Reply) -> Keys:
    """Return the Ed25519 keys in a directory's reply. Raises ValueError if it is not a key directory."""
    media_type = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if reply.status != 200 or media_type not in MEDIA_TYPES:
        raise ValueError(f"It answered {reply.status} {media_type[:100]}.")
    if len(reply.body) > MAX_BYTES:
        raise ValueError(f"It is larger than {MAX_BYTES:,} bytes.")
    try:
        document = msgspec.json.decode(reply.body, type=dict[str, Any])
        entries = msgspec.convert(document.get("keys"), list[dict[str, Any]])
    except msgspec.DecodeError:
        raise ValueError("It is no JWK set.") from None
    return dict(filter(None, map(parse_key, entries[:MAX_KEYS])))


def parse_key(jwk: dict[str, Any]) -> tuple[str, PublishedKey] | None:
    """Return a JSON Web Key with its thumbprint; None for other kinds of keys."""
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
    """Return the RFC 7638 thumbprint of an Ed25519 key."""
    members = {"crv": "Ed25519", "kty": "OKP", "x": encode_base64url(raw)}
    return encode_base64url(sha256(orjson.dumps(members, option=orjson.OPT_SORT_KEYS)).digest())
