"""The table of crawlers that this process uses: shipped, updated, with published addresses."""

import os
from functools import lru_cache
from pathlib import Path
from time import monotonic

from django.conf import settings
from msgspec.structs import replace

from licensing.crawler_classes import KEPT_OUT
from licensing.edge.crawlers import SHIPPED, Table, parse_table
from licensing.edge.publishing.publication import Agents
from licensing.edge.verification import published_addresses
from licensing.edge.verification.published_lists import fetch_lists, stored_lists

LOOK_AGAIN_AFTER = 5.0  # seconds


def agents_for_robots() -> tuple[Agents, ...]:
    """Return the known crawlers that robots.txt can name, by class and by whether they come themselves."""
    tokens_by_class: dict[tuple[str, bool], list[str]] = {}
    for crawler in current_table.get().crawlers:
        if crawler.crawler_class in KEPT_OUT and crawler.product_token is not None:
            tokens_by_class.setdefault((crawler.crawler_class, crawler.user_agent is not None), []).append(
                crawler.product_token
            )
    return tuple(Agents(use, tuple(tokens), can_pay) for (use, can_pay), tokens in tokens_by_class.items())


def path_of_update() -> Path:
    """Return the path where an updated table is stored."""
    return Path(settings.DATA_DIR) / "crawlers.json"


def keep_table(data: bytes) -> Table:
    """Check an updated table and replace the current one atomically. Raises ValueError and OSError."""
    table, path = parse_table(data), path_of_update()
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_bytes(data)
    draft.replace(path)
    return table


class CurrentTable:
    """The current table: the updated one if present, with loaded addresses. Sees changed files within five seconds."""

    def __init__(self) -> None:
        self.looked_at = -LOOK_AGAIN_AFTER
        self.table = read_table(SHIPPED, 0, 0, 0)

    def get(self) -> Table:
        now = monotonic()
        if now - self.looked_at >= LOOK_AGAIN_AFTER:
            self.looked_at = now
            path = path_of_update()
            try:
                changed = path.stat().st_mtime_ns
            except FileNotFoundError:
                path, changed = SHIPPED, 0
            self.table = read_table(path, changed, published_addresses.stored_version(), stored_lists.version)
        return self.table


@lru_cache(maxsize=2)
def read_table(path: Path, changed: int, addresses: int, lists: int) -> Table:
    """Read a table with loaded and fetched addresses. The numbers identify versions for the cache."""
    table = parse_table(path.read_bytes())
    if not table.referrers:  # of an update that lists only crawlers
        table = replace(table, referrers=parse_table(SHIPPED.read_bytes()).referrers)
    if addresses:
        table = table.with_addresses(published_addresses.stored_addresses())
    return table.with_addresses(addresses_of_lists(table)) if lists else table


def addresses_of_lists(table: Table) -> dict[str, frozenset[str]]:
    """Return the addresses in the fetched lists of each crawler, by its key."""
    ranges = stored_lists.ranges
    return {
        crawler.key: frozenset[str]().union(*(ranges.get(url, ()) for url in crawler.address_lists))
        for crawler in table.crawlers
        if crawler.address_lists
    }


current_table = CurrentTable()


def fetch_published_lists() -> None:
    """Fetch the address lists of the current table that are due."""
    fetch_lists(url for crawler in current_table.get().crawlers for url in crawler.address_lists)
