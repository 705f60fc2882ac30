"""The addresses that operators publish for their crawlers: read from their files, and kept beside the table.

A file of its own for each crawler, so that loading one takes nothing of another's, and an updated table no addresses.
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
# A range wider than any that an operator publishes would verify everybody.
SHORTEST_PREFIX = {4: 8, 6: 16}


class Prefix(Struct, frozen=True, rename="camel"):
    """One of the two; files may say more of each, which is of no use here."""

    ipv4_prefix: str | None = msgspec.field(default=None, name="ipv4Prefix")
    ipv6_prefix: str | None = msgspec.field(default=None, name="ipv6Prefix")


class PublishedFile(Struct, frozen=True, rename="camel"):
    """As Google, Microsoft, OpenAI, Anthropic, Apple, Common Crawl and others publish them."""

    prefixes: Annotated[list[Prefix], Meta(min_length=1, max_length=20_000)]
    creation_time: str | None = None


class KeptFile(Struct, frozen=True):
    crawler: str  # its key
    addresses: list[str]


def parse_published(data: bytes) -> tuple[list[str], str | None]:
    """The ranges of a file, and when it was made as far as it says. Raises ValueError, which says what is wrong."""
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


def folder() -> Path:
    return Path(settings.DATA_DIR) / "crawler-addresses"


def state() -> int:
    """Changes with every file that is kept; 0 while there is none."""
    try:
        return folder().stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def keep(crawler: str, addresses: list[str]) -> None:
    """Puts a crawler's addresses, by its key, in the place of those that were loaded before. Raises OSError."""
    folder().mkdir(mode=0o700, exist_ok=True)
    path = folder() / f"{quote(crawler, safe='')}.json"
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_bytes(msgspec.json.encode(KeptFile(crawler, sorted(set(addresses)))))
    draft.replace(path)


def read() -> dict[str, frozenset[str]]:
    """All that are kept, by the keys of their crawlers."""
    kept = (msgspec.json.decode(path.read_bytes(), type=KeptFile) for path in sorted(folder().glob("*.json")))
    return {one.crawler: frozenset(one.addresses) for one in kept}


def made_on(creation_time: str | None) -> str | None:
    """The day that a file was made, YYYY-MM-DD; None where it does not say so."""
    try:
        return datetime.fromisoformat(creation_time or "").date().isoformat()
    except ValueError:
        return None
