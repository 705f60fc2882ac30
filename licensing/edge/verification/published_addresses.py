"""Address ranges that operators publish for their crawlers, read from their files and stored in DATA_DIR.

Each crawler has its own file, so that loading one affects no other, and updating the table affects no addresses.
"""

import os
from datetime import datetime
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import msgspec
from django.conf import settings
from msgspec import Meta, Struct

from kit.values.networks import Network, as_ipv4

LONGEST_FILE = 4 * 1024 * 1024
# A wider range than any operator publishes would verify almost everybody.
SHORTEST_PREFIX = {4: 8, 6: 16}


class Prefix(Struct, frozen=True, rename="camel"):
    """An entry with one of two prefixes; other members are ignored."""

    ipv4_prefix: str | None = msgspec.field(default=None, name="ipv4Prefix")
    ipv6_prefix: str | None = msgspec.field(default=None, name="ipv6Prefix")


class PublishedFile(Struct, frozen=True, rename="camel"):
    """The format that Google, Microsoft, OpenAI, Anthropic, Apple, Common Crawl and others publish."""

    prefixes: Annotated[list[Prefix], Meta(min_length=1, max_length=20_000)]
    creation_time: str | None = None


class StoredFile(Struct, frozen=True):
    crawler: str  # its key
    addresses: list[str]


def parse_published(data: bytes) -> tuple[list[str], str | None]:
    """Return the ranges in a file and its creation time, if given. Raises ValueError with the reason."""
    if len(data) > LONGEST_FILE:
        raise ValueError(f"It is larger than {LONGEST_FILE:,} bytes.")
    published = msgspec.json.decode(data, type=PublishedFile)
    texts = [prefix.ipv4_prefix or prefix.ipv6_prefix for prefix in published.prefixes]
    if None in texts:
        raise ValueError("A prefix has neither ipv4Prefix nor ipv6Prefix.")
    return [str(parse_range(text)) for text in texts if text is not None], published.creation_time


def parse_range(text: str) -> Network:
    network = as_ipv4(ip_network(text))
    if network.prefixlen < SHORTEST_PREFIX[network.version]:
        raise ValueError(f"{text} is wider than any range of a crawler's.")
    return network


def addresses_folder() -> Path:
    return Path(settings.DATA_DIR) / "crawler-addresses"


def stored_version() -> int:
    """Return a number that changes whenever a file is stored; 0 if there are none."""
    try:
        return addresses_folder().stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def store_addresses(crawler: str, addresses: list[str]) -> None:
    """Store a crawler's addresses, replacing those loaded before. Raises OSError."""
    addresses_folder().mkdir(mode=0o700, exist_ok=True)
    path = addresses_folder() / f"{quote(crawler, safe='')}.json"
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_bytes(msgspec.json.encode(StoredFile(crawler, sorted(set(addresses)))))
    draft.replace(path)


def stored_addresses() -> dict[str, frozenset[str]]:
    """Return all stored addresses by crawler key."""
    files = (
        msgspec.json.decode(path.read_bytes(), type=StoredFile) for path in sorted(addresses_folder().glob("*.json"))
    )
    return {file.crawler: frozenset(file.addresses) for file in files}


def creation_date(creation_time: str | None) -> str | None:
    """Return the creation date as YYYY-MM-DD; None if it is missing or invalid."""
    try:
        return datetime.fromisoformat(creation_time or "").date().isoformat()
    except ValueError:
        return None
