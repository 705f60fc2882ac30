import asyncio
import ssl
from threading import get_ident

import orjson
import pytest
from asgiref.sync import async_to_sync

from kit.outbound.client import Reply, Unreachable, trusted_certificates
from licensing.edge.verification.directories import (
    MAX_DIRECTORIES,
    MAX_FETCHES,
    MAX_FETCHES_OF_NETWORK,
    MAX_FIRST_FETCHES,
    PATH,
    Directories,
)
from tests.edge.signers import AGENT, DIRECTORY, KEYID, RAW, published

LISTED = "https://listed.example"
EMPTY = Reply(200, {"content-type": DIRECTORY}, orjson.dumps({"keys": []}))


@pytest.fixture
def listed(crawler_table):
    """Add a crawler to the table that signs with the keys of LISTED."""
    crawler = {"name": "Listed", "class": "search", "operator": "L", "userAgent": "Listed"}
    crawler_table({**crawler, "signatureAgent": LISTED.removeprefix("https://")})


class Hosts:
    """Replies of directory hosts: a key, or what `failing` and `slow` hosts do. `asked` lists the origins in order."""

    def __init__(self):
        self.asked, self.failing, self.release = [], Unreachable("no"), asyncio.Event()

    async def fetch(self, url):
        origin = url.removesuffix(PATH)
        self.asked.append(origin)
        if "slow" in origin:
            await self.release.wait()
        if "invented" not in origin:
            return published(RAW)
        if isinstance(self.failing, Exception):
            raise self.failing
        return self.failing


async def settle(directories):
    """Wait until no directory is being fetched."""
    while directories.fetching:
        await asyncio.gather(*directories.fetching.values())


async def name(directories, *origins, address="203.0.113.9"):
    """Send requests from the address that name each origin, and wait for its directory."""
    for origin in origins:
        directories.find(origin, KEYID, address)
        await settle(directories)


def several(name, count):
    return [f"https://{name}{number}.example" for number in range(count)]


@pytest.mark.parametrize("failing", [Unreachable("no"), Reply(404, {}, b""), EMPTY], ids=["dead", "404", "empty"])
def test_invented_agents_take_no_place_from_a_directory(failing):
    async def play():
        hosts = Hosts()
        hosts.failing = failing
        directories = Directories(hosts.fetch)
        await name(directories, AGENT, *several("invented", MAX_DIRECTORIES + 100))
        return directories.find(AGENT, KEYID), hosts.asked.count(AGENT)

    found, times = async_to_sync(play)()
    assert (found is not None, times) == (True, 1)


def test_fetches_load_the_trusted_certificates_once_and_not_on_the_event_loop(monkeypatch):
    loaders, create = [], ssl.create_default_context
    monkeypatch.setattr(ssl, "create_default_context", lambda: loaders.append(get_ident()) or create())
    trusted_certificates.cache_clear()

    async def play():
        await name(Directories(), *(f"https://10.0.0.{number}" for number in range(5)))
        return get_ident()

    assert async_to_sync(play)() not in loaders
    assert len(loaders) == 1


@pytest.mark.usefixtures("listed")
def test_no_number_of_real_directories_takes_the_place_of_a_listed_crawlers():
    async def play():
        hosts = Hosts()
        directories = Directories(hosts.fetch)
        await name(directories, LISTED, AGENT, *several("real", MAX_DIRECTORIES))
        return directories.find(LISTED, KEYID), directories.find(AGENT, KEYID)

    found, forgotten = async_to_sync(play)()
    assert (found is not None, forgotten) == (True, None)


def named_by_many(directories, origins):
    """Visitors from different networks name these origins; no request waits for a fetch."""
    for number, origin in enumerate(origins):
        directories.find(origin, KEYID, f"198.51.{number}.1")


@pytest.mark.usefixtures("listed")
def test_slow_directories_keep_out_no_listed_crawler():
    async def play():
        hosts = Hosts()
        directories = Directories(hosts.fetch)
        named_by_many(directories, several("slow", MAX_FIRST_FETCHES + 10))
        directories.find(LISTED, KEYID, "203.0.113.9")
        await directories.fetching[LISTED]
        found = directories.find(LISTED, KEYID)
        hosts.release.set()
        await settle(directories)
        return found

    assert async_to_sync(play)() is not None


def test_slow_directories_keep_no_known_one_from_being_read_again(monkeypatch):
    async def play():
        hosts = Hosts()
        directories = Directories(hosts.fetch)
        await name(directories, AGENT)
        directories.known[AGENT].ask_again_at = 0
        named_by_many(directories, several("slow", MAX_FIRST_FETCHES + 10))
        directories.find(AGENT, KEYID)
        await directories.fetching[AGENT]
        hosts.release.set()
        await settle(directories)
        return hosts.asked.count(AGENT)

    assert async_to_sync(play)() == 2


def test_a_new_directory_waits_its_turn_behind_slow_ones():
    async def play():
        hosts = Hosts()
        directories = Directories(hosts.fetch)
        named_by_many(directories, several("slow", MAX_FETCHES))
        directories.find(AGENT, KEYID, "203.0.113.9")
        await asyncio.sleep(0)
        waiting = AGENT in directories.fetching and AGENT not in hosts.asked
        hosts.release.set()
        await settle(directories)
        return waiting, directories.find(AGENT, KEYID)

    waiting, found = async_to_sync(play)()
    assert (waiting, found is not None) == (True, True)


@pytest.mark.parametrize("network", ["203.0.113.{}", "2001:db8:1:2::{}"])
def test_a_network_has_few_first_fetches_at_a_time(network):
    async def play():
        hosts = Hosts()
        directories = Directories(hosts.fetch)
        for number, origin in enumerate(several("slow", 100)):
            directories.find(origin, KEYID, network.format(number + 1))
        begun = len(directories.fetching)
        directories.find(AGENT, KEYID, "192.0.2.1")
        await directories.fetching[AGENT]
        hosts.release.set()
        await settle(directories)
        directories.find("https://later.example", KEYID, network.format(1))
        return begun, directories.find(AGENT, KEYID), len(directories.fetching)

    begun, found, later = async_to_sync(play)()
    assert (begun, found is not None, later) == (MAX_FETCHES_OF_NETWORK, True, 1)
