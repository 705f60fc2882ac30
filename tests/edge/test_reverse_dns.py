"""Crawlers verified by the names of their addresses."""

import socket
from ipaddress import ip_address

import pytest
from asgiref.sync import async_to_sync

from licensing.edge.verification import reverse_dns
from licensing.edge.verification.reverse_dns import AddressNames, confirmed_name
from tests.edge.asking import event, told

SEEKER, ADDRESS = "Seeker/1.0", "8.8.4.4"
SEARCHED = {"action": "allow", "conditions": {"default": True}, "permissions": ["search"]}


@pytest.fixture
def table(crawler_table):
    crawler_table(
        {"name": "Seeker", "class": "search", "operator": "Seeker", "userAgent": "Seeker",
         "hosts": ["crawl.seeker.example"]}
    )  # fmt: skip


def test_a_crawler_is_known_by_the_name_of_its_address_from_the_second_visit_on(ask, site, table, dns):
    site(SEARCHED)
    dns[ADDRESS] = "a-1.crawl.seeker.example"
    assert told(ask("/premium/a", user_agent=SEEKER, x_forwarded_for=ADDRESS))[0] == 403
    reply = ask("/premium/a", user_agent=SEEKER, x_forwarded_for=ADDRESS)
    assert (reply.status, reply.headers["X-Access-Requester"]) == (200, "crawler:seeker")
    assert event(reply).facts["identifiedBy"] == "reverse_dns"


@pytest.mark.parametrize("name", ["seeker.example", "crawl.seeker.example.evil.example", "evilcrawl.seeker.example"])
def test_a_name_elsewhere_verifies_nobody(ask, site, table, dns, name):
    site(SEARCHED)
    dns[ADDRESS] = name
    for _ in range(2):
        reply = ask("/premium/a", user_agent=SEEKER, x_forwarded_for=ADDRESS)
        assert (reply.status, reply.headers["X-Access-Requester"]) == (403, "unverified:seeker")


def test_a_name_says_nothing_of_who_claims_no_crawler(ask, site, table, dns):
    site(SEARCHED)
    dns[ADDRESS] = "a-1.crawl.seeker.example"
    for _ in range(2):
        assert ask("/premium/a", x_forwarded_for=ADDRESS).headers["X-Access-Requester"] == "anonymous"


@pytest.mark.parametrize("address", ["10.0.0.7", "127.0.0.1", "203.0.113.9", "fd00::1", "::1", "169.254.1.1"])
def test_an_address_that_is_not_public_is_not_looked_up(ask, site, table, dns, forwards, address):
    site(SEARCHED)
    dns[address] = "a-1.crawl.seeker.example"
    for _ in range(2):
        assert ask("/premium/a", user_agent=SEEKER, x_forwarded_for=address).status == 403
    assert dns.asked == []


def test_it_can_be_turned_off(ask, site, table, dns, settings):
    settings.CRAWLER_DNS = False
    site(SEARCHED)
    dns[ADDRESS] = "a-1.crawl.seeker.example"
    for _ in range(2):
        assert ask("/premium/a", user_agent=SEEKER, x_forwarded_for=ADDRESS).status == 403
    assert dns.asked == []


# --- Looking names up ------------------------------------------------------------------------------------------------


@pytest.fixture
def resolver(monkeypatch):
    """What DNS says: the names of addresses, and the addresses of names."""
    names, addresses = {}, {}

    def gethostbyaddr(address):
        if address not in names:
            raise socket.herror(1, "Unknown host")
        return names[address], [], [address]

    def getaddrinfo(host, port, **options):
        if host not in addresses:
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses[host]]

    monkeypatch.setattr(socket, "gethostbyaddr", gethostbyaddr)
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return names, addresses


def confirmed(address=ADDRESS):
    return async_to_sync(confirmed_name)(ip_address(address))


def test_a_name_counts_that_has_the_address_in_turn(resolver):
    names, addresses = resolver
    names[ADDRESS] = "Crawl-1.Seeker.example"
    addresses["Crawl-1.Seeker.example"] = ["192.0.2.1", ADDRESS]
    assert confirmed() == "crawl-1.seeker.example"


def test_a_name_that_somebody_gave_his_own_address_does_not(resolver):
    names, addresses = resolver
    names[ADDRESS] = "crawl-1.seeker.example"
    addresses["crawl-1.seeker.example"] = ["192.0.2.1"]
    assert confirmed() is None


def test_neither_does_a_name_that_leads_nowhere(resolver):
    names, _ = resolver
    names[ADDRESS] = "crawl-1.seeker.example"
    assert confirmed() is None
    names.clear()
    assert confirmed() is None


def asks(names, *addresses):
    """Asks for all at once, and waits until what is looked up is known."""

    async def asking():
        found = [names.lies_below(ip_address(address), ("seeker.example",)) for address in addresses]
        for task in list(names.waiting.values()):
            await task
        return found

    return async_to_sync(asking)()


@pytest.fixture
def asked():
    return []


@pytest.fixture
def names(asked):
    async def resolve(address):
        asked.append(str(address))
        return "a.seeker.example" if str(address) == ADDRESS else None

    return AddressNames(resolve)


def test_an_address_is_looked_up_once(names, asked):
    assert [asks(names, ADDRESS), asks(names, ADDRESS), asks(names, "8.8.8.8"), asks(names, "8.8.8.8")] == [
        [False], [True], [False], [False],
    ]  # fmt: skip
    assert asked == [ADDRESS, "8.8.8.8"]


def test_few_are_looked_up_at_a_time(names, asked):
    asks(names, *(f"9.9.9.{number}" for number in range(100)))
    assert len(asked) == reverse_dns.MOST_LOOKUPS


def test_who_claims_a_crawler_from_many_addresses_drives_out_nothing_verified(names, monkeypatch):
    names.unnamed = type(names.unnamed)(4, reverse_dns.UNNAMED_SECONDS)
    asks(names, ADDRESS)
    for number in range(20):
        asks(names, f"9.9.9.{number}")
    assert asks(names, ADDRESS) == [True]
    assert len(names.unnamed) == 4


def test_a_look_up_that_fails_verifies_nobody_and_leaves_nothing_waiting():
    async def broken(address):
        raise RuntimeError("no")

    names = AddressNames(broken)
    assert asks(names, ADDRESS) == [False]
    assert names.waiting == {}
    assert asks(names, ADDRESS) == [False]
