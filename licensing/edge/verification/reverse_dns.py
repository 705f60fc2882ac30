"""Verifies crawlers by reverse DNS, looked up in the background and cached.

Owners of an address choose its reverse name freely, so a name counts only if it resolves back to the address and lies
in a domain of the crawler's operator. The first visit finds nothing yet. Visitors who send a crawler's User-Agent from
many addresses can cause at most MOST_LOOKUPS concurrent look-ups and never evict verified names.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from cachetools import TTLCache
from django.conf import settings

from kit.outbound.client import resolve_by_system
from kit.outbound.destinations import is_public
from kit.values.networks import Address

NAMED_SECONDS, UNNAMED_SECONDS = 24 * 3_600, 600  # how long a name, or its absence, is cached
MOST_ADDRESSES, MOST_LOOKUPS = 10_000, 8
HTTPS = 443  # any port; the resolver requires one

Resolve = Callable[[Address], Awaitable[str | None]]
logger = logging.getLogger(__name__)


@cache
def lookups() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_LOOKUPS, thread_name_prefix="reverse-dns")


def name_now(address: Address) -> str | None:
    """Look up the address's reverse DNS name; blocking."""
    try:
        return socket.gethostbyaddr(str(address))[0]
    except OSError:
        return None


async def confirmed_name(address: Address) -> str | None:
    """Return the address's name in lower case if it resolves back to the address; otherwise None."""
    name = await asyncio.get_running_loop().run_in_executor(lookups(), name_now, address)
    if name is None:
        return None
    try:
        own = await resolve_by_system(name, HTTPS)
    except (OSError, UnicodeError):
        return None
    return name.lower().rstrip(".") if address in own else None


def lies_below(name: str, hosts: tuple[str, ...]) -> bool:
    return any(name == host or name.endswith(f".{host}") for host in hosts)


class AddressNames:
    """Cache of verified names of visitors' addresses. All methods run on the event loop."""

    def __init__(self, resolve: Resolve = confirmed_name) -> None:
        self.resolve = resolve
        self.named: TTLCache[Address, str] = TTLCache(MOST_ADDRESSES, NAMED_SECONDS)
        self.unnamed: TTLCache[Address, bool] = TTLCache(MOST_ADDRESSES, UNNAMED_SECONDS)
        self.waiting: dict[Address, asyncio.Task[None]] = {}

    def lies_below(self, address: Address, hosts: tuple[str, ...]) -> bool:
        """Whether the address is known to have a name in one of these domains. Starts a look-up if it is unknown.

        Names in other domains are cached like missing ones, for a shorter time.
        """
        name = self.named.get(address)
        if name is not None:
            return lies_below(name, hosts)
        if settings.CRAWLER_DNS and address not in self.unnamed and is_public(address):
            self.look_up(address, hosts)
        return False

    def look_up(self, address: Address, hosts: tuple[str, ...]) -> None:
        if address not in self.waiting and len(self.waiting) < MOST_LOOKUPS:
            self.waiting[address] = asyncio.get_running_loop().create_task(self.read(address, hosts))

    async def read(self, address: Address, hosts: tuple[str, ...]) -> None:
        name = None
        try:
            name = await self.resolve(address)
        except Exception:
            logger.exception("The name of %s could not be looked up", address)
        finally:
            del self.waiting[address]
        if name is not None and lies_below(name, hosts):
            self.named[address] = name
        else:
            self.unnamed[address] = True
