"""Fetches the address lists that crawlers' operators publish, and keeps the last good copy in the database.

One process fetches each list once a day (CRAWLER_LISTS); the others read the stored copies. Nothing but a complete,
well-formed list replaces a copy.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.utils import timezone
from msgspec import Struct

from kit.outbound.client import Client, Reply, Unreachable
from kit.outbound.destinations import DestinationRefused
from kit.storage.sqlite_turns import turn_to_write
from licensing.edge.verification.models import AddressList
from licensing.edge.verification.published_addresses import LONGEST_FILE, parse_published

SECONDS = 30  # of a fetch
MAX_FETCHES = 4  # at a time
FRESH, RETRY = timedelta(days=1), timedelta(hours=1)  # before a list is fetched again, and after a failure
HEADERS = {"Accept": "application/json", "User-Agent": "content-access-licensing"}
logger = logging.getLogger(__name__)


def uses_published_lists() -> bool:
    """Whether CRAWLER_LISTS lets this installation fetch the lists and decide by them."""
    return bool(settings.CRAWLER_LISTS)


class FetchResult(Struct, frozen=True):
    """The result of a fetch: the ranges, or why there are none."""

    url: str
    ranges: tuple[str, ...] = ()
    failure: str = ""


class StoredLists:
    """This process's copy of the stored lists. `version` changes whenever one of them does; 0 means none are read."""

    def __init__(self) -> None:
        self.version = 0
        self.ranges: Mapping[str, frozenset[str]] = {}  # by URL
        self.seen: tuple[object, ...] = ()

    def read(self) -> None:
        """Read the lists from the database if any has changed."""
        fetched_lists = AddressList.objects.filter(fetched_at__isnull=False).order_by("url")
        seen = tuple(fetched_lists.values_list("url", "fetched_at"))
        if seen == self.seen:
            return
        self.ranges = {address_list.url: frozenset(address_list.ranges) for address_list in fetched_lists}
        self.seen, self.version = seen, self.version + 1

    def forget(self) -> None:
        self.ranges, self.seen, self.version = {}, (), 0


stored_lists = StoredLists()


def claim(urls: Iterable[str]) -> list[str]:
    """Return the lists that this process is to fetch now, so that no other process fetches them, too."""
    now = timezone.now()
    distinct = sorted(set(urls))
    is_old = Q(attempted_at=None) | Q(attempted_at__lte=now - FRESH)
    is_due = is_old | (~Q(failure="") & Q(attempted_at__lte=now - RETRY))
    stored_urls = set(AddressList.objects.filter(url__in=distinct).values_list("url", flat=True))
    with turn_to_write():
        AddressList.objects.bulk_create(
            [AddressList(url=url) for url in distinct if url not in stored_urls], ignore_conflicts=True
        )
        return [url for url in distinct if AddressList.objects.filter(is_due, url=url).update(attempted_at=now)]


def fetch_lists(urls: Iterable[str], make_client: Callable[[], Client] = Client) -> list[FetchResult]:
    """Fetch the lists that are due, and store the valid ones. Returns all results."""
    claimed = claim(urls)
    results = asyncio.run(fetch_all(claimed, make_client())) if claimed else []
    for result in results:
        store_result(result)
    return results


async def fetch_all(urls: list[str], client: Client) -> list[FetchResult]:
    slots = asyncio.Semaphore(MAX_FETCHES)
    return list(await asyncio.gather(*(fetch(url, client, slots) for url in urls)))


async def fetch(url: str, client: Client, slots: asyncio.Semaphore) -> FetchResult:
    try:
        async with slots:
            reply = await client.send("GET", url, HEADERS, seconds=SECONDS, most_bytes=LONGEST_FILE + 1)
        return FetchResult(url, parse_ranges(reply))
    except (DestinationRefused, Unreachable, ValueError) as error:
        return FetchResult(url, failure=str(error)[:300] or type(error).__name__)


def parse_ranges(reply: Reply) -> tuple[str, ...]:
    """Return the ranges in the reply. Raises ValueError unless it is a complete, well-formed list."""
    if reply.status != 200:
        location = reply.headers.get("location", "")
        raise ValueError(f"It answered {reply.status}{f' and points to {location[:200]}' if location else ''}.")
    ranges, _ = parse_published(reply.body)
    return tuple(sorted(set(ranges)))


def store_result(result: FetchResult) -> None:
    """Store the list, or why it could not be fetched; a failure leaves the last good copy as it is."""
    stored = AddressList.objects.filter(url=result.url)
    with turn_to_write():
        if result.failure:
            stored.update(failure=result.failure, failed_at=timezone.now())
            logger.warning("The address list %s could not be fetched: %s", result.url, result.failure)
        else:
            stored.update(ranges=list(result.ranges), fetched_at=timezone.now(), failure="")
