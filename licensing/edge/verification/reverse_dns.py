"""Verifies crawlers by reverse DNS: an address's name counts if it resolves back to the address and lies in a domain
of the crawler's operator.

The first visit from an address waits for the lookup, at most PATIENCE seconds; concurrent visits share it. Verified
names are kept for a day in the database, for all processes. Addresses without such a name are remembered in this
process alone: visitors who claim to be crawlers from many addresses fill no table, and evict no verified name.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from ipaddress import ip_network
from time import monotonic

import dns.asyncresolver
import dns.exception
import dns.resolver
from cachetools import LRUCache, TTLCache
from django.conf import settings
from django.utils import timezone
from msgspec import Struct

from kit.outbound.destinations import is_public
from kit.storage.microbatch import MicroBatch
from kit.values.networks import Address
from licensing.access.event_loop.calls import in_thread
from licensing.edge.crawlers import lies_below
from licensing.edge.current_crawlers import current_table
from licensing.edge.verification.models import VALID, AddressName, find_names_now, keep_names_now

PATIENCE = 0.3  # seconds that visits wait for a lookup
LOOKUP_SECONDS = 3
UNNAMED_SECONDS, FAILED_SECONDS = 600, 10  # before an address is looked up again: it has no name; DNS did not answer
MAX_ADDRESSES = 10_000
MAX_NAMES = 4  # PTR records to try per address
MAX_LOOKUPS, MAX_LOOKUPS_OF_NETWORK = 100, 20  # concurrent lookups
NETWORK_BITS = {4: 24, 6: 48}

Resolve = Callable[[Address], Awaitable[str | None]]
logger = logging.getLogger(__name__)


class LookupFailed(Exception):
    """The name servers gave no answer, so nothing is known about the address."""


async def confirmed_name(address: Address, resolver: dns.asyncresolver.Resolver | None = None) -> str | None:
    """Return the address's name in lower case if it resolves back to the address; otherwise None.

    Raises LookupFailed.
    """
    try:
        resolver = resolver or dns.asyncresolver.Resolver()
        async with asyncio.timeout(LOOKUP_SECONDS):
            records = await resolver.resolve_address(str(address), search=False)
            for record in list(records)[:MAX_NAMES]:
                if await has_address(resolver, record.target, address):
                    return str(record.target).lower().rstrip(".")
    except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
        return None
    except (dns.exception.DNSException, OSError) as error:
        raise LookupFailed(f"{type(error).__name__}: {error}"[:300]) from None
    return None


async def has_address(resolver: dns.asyncresolver.Resolver, name: dns.name.Name, address: Address) -> bool:
    """Return whether the name resolves to the address."""
    kind = "A" if address.version == 4 else "AAAA"
    try:
        records = await resolver.resolve(name, kind, search=False)
    except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
        return False
    return any(record.address == str(address) for record in records)


class Lookup(Struct, frozen=True):
    task: "asyncio.Task[None]"
    deadline: float  # monotonic time up to which visits wait for it


class AddressNames:
    """Verified names of visitors' addresses. All methods run on the event loop."""

    def __init__(self, resolve: Resolve = confirmed_name) -> None:
        self.resolve = resolve
        self.named: LRUCache[Address, AddressName] = LRUCache(MAX_ADDRESSES)
        self.unnamed: TTLCache[Address, bool] = TTLCache(MAX_ADDRESSES, UNNAMED_SECONDS)
        self.failed: TTLCache[Address, bool] = TTLCache(MAX_ADDRESSES, FAILED_SECONDS)
        self.running: dict[Address, Lookup] = {}
        self.of_networks: Counter[str] = Counter()  # lookups in progress
        self.stored: MicroBatch[str, AddressName | None] = MicroBatch(in_thread("names of addresses", find_names_now))
        self.keeping: MicroBatch[AddressName, None] = MicroBatch(in_thread("new names of addresses", keep_names_now))

    async def is_named_below(self, address: Address, hosts: tuple[str, ...]) -> bool:
        """Return whether the address has a verified name in one of these domains.

        Looks up an unknown address, and waits for it until the lookup's deadline.
        """
        name = self.name_of(address)
        if name is None and (lookup := self.look_up(address)) is not None:
            seconds = lookup.deadline - monotonic()
            if seconds > 0:
                await asyncio.wait([lookup.task], timeout=seconds)
            name = self.name_of(address)
        return name is not None and lies_below(name, hosts)

    def name_of(self, address: Address) -> str | None:
        record = self.named.get(address)
        return record.name if record is not None and timezone.now() < record.looked_up_at + VALID else None

    def look_up(self, address: Address) -> Lookup | None:
        """Return the lookup of the address, a running one or a new one; None if there is to be none."""
        if not settings.CRAWLER_DNS or address in self.unnamed or address in self.failed or not is_public(address):
            return None
        running = self.running.get(address)
        network = str(ip_network((address, NETWORK_BITS[address.version]), strict=False))
        if running is not None:
            return running
        if len(self.running) >= MAX_LOOKUPS or self.of_networks[network] >= MAX_LOOKUPS_OF_NETWORK:
            return None
        self.of_networks[network] += 1
        task = asyncio.get_running_loop().create_task(self.run(address, network))
        self.running[address] = lookup = Lookup(task, monotonic() + PATIENCE)
        return lookup

    async def run(self, address: Address, network: str) -> None:
        try:
            await self.find_name(address)
        except LookupFailed as error:
            self.failed[address] = True
            logger.info("The name of %s could not be looked up: %s", address, error)
        except Exception:
            self.failed[address] = True
            logger.exception("The name of %s could not be looked up", address)
        finally:
            del self.running[address]
            self.of_networks[network] -= 1
            self.of_networks += Counter()  # drops zero counts

    async def find_name(self, address: Address) -> None:
        """Take the address's name from the database, or from DNS into the database."""
        stored = await self.stored.submit(str(address))
        if stored is not None:
            self.named[address] = stored
            return
        name = await self.resolve(address)
        if name is None or not lies_below(name, current_table.get().hosts):
            self.unnamed[address] = True
            return
        verified = self.named[address] = AddressName(str(address), name, timezone.now())
        await self.keeping.submit(verified)
