"""Crawlers known by the names of their addresses: looked up off the way of a request, and kept.

The name that an address has in reverse DNS is whatever its owner says, so it counts only if that name has the address
in turn, and lies in a domain of the crawler's operator. A first visit finds nothing yet. Who sends a crawler's
User-Agent from many addresses makes at most MOST_LOOKUPS look-ups at a time, and drives out nothing that is verified.
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

NAMED_SECONDS, UNNAMED_SECONDS = 24 * 3_600, 600  # that an address's name, and that it has none, are kept
MOST_ADDRESSES, MOST_LOOKUPS = 10_000, 8
HTTPS = 443  # any port: the system's resolver takes one

Resolve = Callable[[Address], Awaitable[str | None]]
logger = logging.getLogger(__name__)


@cache
def lookups() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_LOOKUPS, thread_name_prefix="reverse-dns")


def name_now(address: Address) -> str | None:
    """The name that reverse DNS has for the address."""
    try:
        return socket.gethostbyaddr(str(address))[0]
    except OSError:
        return None


async def confirmed_name(address: Address) -> str | None:
    """The address's name in lower case, if that name has the address."""
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
    """The names of visitors' addresses. Every method is called on the event loop."""

    def __init__(self, resolve: Resolve = confirmed_name) -> None:
        self.resolve = resolve
        self.named: TTLCache[Address, str] = TTLCache(MOST_ADDRESSES, NAMED_SECONDS)
        self.unnamed: TTLCache[Address, bool] = TTLCache(MOST_ADDRESSES, UNNAMED_SECONDS)
        self.waiting: dict[Address, asyncio.Task[None]] = {}

    def lies_below(self, address: Address, hosts: tuple[str, ...]) -> bool:
        """Whether the address is known to have a name in one of these domains; one not known is looked up meanwhile.

        A name elsewhere says that it is none of theirs as surely as none does, and may be looked up again.
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
