import asyncio
from datetime import timedelta
from ipaddress import ip_address

import pytest
from asgiref.sync import async_to_sync
from django.db.models import F
from django.utils import timezone

from kit.storage.microbatch import MicroBatch
from licensing.edge.verification import reverse_dns
from licensing.edge.verification.models import AddressName, forget_outdated_names
from licensing.edge.verification.reverse_dns import AddressNames, LookupFailed
from tests.edge.asking import event
from tests.edge.named_crawlers import ADDRESS, SEARCHED, SEEKER


def test_a_crawler_is_known_by_the_name_of_its_address_on_its_first_visit(ask, site, seeker, dns, forwards):
    site(SEARCHED)
    dns[ADDRESS] = "a-1.crawl.seeker.example"
    for _ in range(2):
        reply = ask("/premium/a", user_agent=SEEKER, x_forwarded_for=ADDRESS)
        assert (reply.status, reply.headers["X-Access-Requester"]) == (200, "crawler:seeker")
        assert event(reply).facts["identifiedBy"] == "reverse_dns"
    assert dns.asked == [ADDRESS]
    dns[ADDRESS] = "a-1.crawl.seeker.example"
    ask("/premium/a", user_agent=SEEKER, x_forwarded_for=ADDRESS)
    forwards.names = AddressNames(dns.resolve)  # as in another process
    assert ask("/premium/a", user_agent=SEEKER, x_forwarded_for=ADDRESS).status == 200
    assert dns.asked == [ADDRESS]
    dns[ADDRESS] = "a-1.crawl.seeker.example"
    for _ in range(2):
        assert ask("/premium/a", x_forwarded_for=ADDRESS).headers["X-Access-Requester"] == "anonymous"


def test_a_name_is_looked_up_again_after_a_day(ask, site, seeker, dns, forwards):
    site(SEARCHED)
    dns[ADDRESS] = "a-1.crawl.seeker.example"
    ask("/premium/a", user_agent=SEEKER, x_forwarded_for=ADDRESS)
    AddressName.objects.update(looked_up_at=F("looked_up_at") - timedelta(hours=23))
    forwards.names = AddressNames(dns.resolve)
    ask("/premium/a", user_agent=SEEKER, x_forwarded_for=ADDRESS)
    [known] = forwards.names.named.values()
    assert known.looked_up_at < timezone.now() - timedelta(hours=22)
    AddressName.objects.update(looked_up_at=F("looked_up_at") - timedelta(hours=1))
    forwards.names = AddressNames(dns.resolve)
    del dns[ADDRESS]
    assert ask("/premium/a", user_agent=SEEKER, x_forwarded_for=ADDRESS).status == 403
    assert dns.asked == [ADDRESS, ADDRESS]


def test_the_nightly_job_deletes_outdated_names_alone(db):
    now = timezone.now()
    for hours in (1, 23, 25):
        AddressName.objects.create(address=f"8.8.4.{hours}", name="a", looked_up_at=now - timedelta(hours=hours))
    assert forget_outdated_names() == 1
    assert {one.address for one in AddressName.objects.all()} == {"8.8.4.1", "8.8.4.23"}


def test_a_name_in_another_domain_verifies_no_crawler(ask, site, seeker, dns):
    for name in ["seeker.example", "crawl.seeker.example.evil.example", "evilcrawl.seeker.example"]:
        site(SEARCHED)
        dns[ADDRESS] = name
        for _ in range(2):
            reply = ask("/premium/a", user_agent=SEEKER, x_forwarded_for=ADDRESS)
            assert (reply.status, reply.headers["X-Access-Requester"]) == (403, "unverified:seeker")
    site(SEARCHED)
    dns[ADDRESS] = "host.elsewhere.example"
    for address in (ADDRESS, "8.8.8.8"):
        assert ask("/premium/a", user_agent=SEEKER, x_forwarded_for=address).status == 403
    assert not AddressName.objects.exists()


def test_the_name_of_one_crawler_does_not_verify_another(ask, site, crawler_table, dns):
    crawler_table(*(
        {"name": name, "class": "search", "operator": name, "userAgent": name, "hosts": [f"{name.lower()}.example"]}
        for name in ("Seeker", "Finder")
    ))  # fmt: skip
    site(SEARCHED)
    dns[ADDRESS] = "a-1.finder.example"
    for user_agent, requester in (
        (SEEKER, "unverified:seeker"), ("Finder/1.0", "crawler:finder"), (SEEKER, "unverified:seeker"),
    ):  # fmt: skip
        reply = ask("/premium/a", user_agent=user_agent, x_forwarded_for=ADDRESS)
        assert reply.headers["X-Access-Requester"] == requester


def test_only_names_of_public_addresses_are_looked_up(ask, site, seeker, dns, forwards, settings):
    for address in ["10.0.0.7", "127.0.0.1", "203.0.113.9", "fd00::1", "::1", "169.254.1.1"]:
        site(SEARCHED)
        dns[address] = "a-1.crawl.seeker.example"
        for _ in range(2):
            assert ask("/premium/a", user_agent=SEEKER, x_forwarded_for=address).status == 403
        assert dns.asked == []
    settings.CRAWLER_DNS = False
    site(SEARCHED)
    dns[ADDRESS] = "a-1.crawl.seeker.example"
    for _ in range(2):
        assert ask("/premium/a", user_agent=SEEKER, x_forwarded_for=ADDRESS).status == 403
    assert dns.asked == []


@pytest.fixture
def names(seeker):
    """Host names by address (None if not a listed crawler's), counting the look-ups in `asked`."""
    asked = []

    async def resolve(address):
        asked.append(str(address))
        return "a.crawl.seeker.example" if str(address) == ADDRESS else None

    made = AddressNames(resolve)
    made.asked = asked
    return in_memory(made)


def in_memory(names):
    """Make names independent of the database."""

    async def find(addresses):
        return [None] * len(addresses)

    names.stored, names.keeping = MicroBatch(find), MicroBatch(find)
    return names


def asks(names, *addresses):
    """Look all of them up at once."""

    async def asking():
        many = [names.is_named_below(ip_address(address), ("crawl.seeker.example",)) for address in addresses]
        found = await asyncio.gather(*many)
        await asyncio.gather(*(lookup.task for lookup in list(names.running.values())))
        return found

    return async_to_sync(asking)()


def test_visits_at_the_same_time_share_one_lookup(names):
    assert asks(names, *[ADDRESS] * 50, *["8.8.8.8"] * 50) == [True] * 50 + [False] * 50
    assert asks(names, ADDRESS, "8.8.8.8") == [True, False]
    assert names.asked == [ADDRESS, "8.8.8.8"]


def test_a_visit_waits_no_longer_than_its_patience(seeker, monkeypatch):
    monkeypatch.setattr(reverse_dns, "PATIENCE", 0.01)
    answered = asyncio.Event()

    async def late(address):
        await answered.wait()
        return "a.crawl.seeker.example"

    names = in_memory(AddressNames(late))

    async def asking():
        hosts = ("crawl.seeker.example",)
        first = await names.is_named_below(ip_address(ADDRESS), hosts)
        second = await asyncio.wait_for(names.is_named_below(ip_address(ADDRESS), hosts), 60)
        answered.set()
        await names.running[ip_address(ADDRESS)].task
        return first, second, await names.is_named_below(ip_address(ADDRESS), hosts)

    assert async_to_sync(asking)() == (False, False, True)


@pytest.mark.parametrize("error", [LookupFailed("no"), RuntimeError("no")])
def test_a_lookup_that_fails_is_repeated_soon(seeker, error):
    answers = [error, "a.crawl.seeker.example"]

    async def resolve(address):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    names = in_memory(AddressNames(resolve))
    assert asks(names, ADDRESS) == [False]
    assert (names.running, dict(names.of_networks)) == ({}, {})
    assert asks(names, ADDRESS) == [False]  # FAILED_SECONDS have not passed
    names.failed.clear()
    assert asks(names, ADDRESS) == [True]
    assert reverse_dns.FAILED_SECONDS <= 10


def test_simultaneous_lookups_are_limited_in_total_and_for_each_network(names):
    asks(names, *(f"9.9.9.{number}" for number in range(100)), ADDRESS)
    assert len(names.asked) == reverse_dns.MAX_LOOKUPS_OF_NETWORK + 1
    assert ADDRESS in names.asked
    asks(names, *(f"9.{number}.9.9" for number in range(200)))
    assert len(names.asked) == reverse_dns.MAX_LOOKUPS_OF_NETWORK + 1 + reverse_dns.MAX_LOOKUPS


def test_false_claims_from_many_addresses_evict_no_verified_name(names):
    names.unnamed = type(names.unnamed)(4, reverse_dns.UNNAMED_SECONDS)
    asks(names, ADDRESS)
    for number in range(20):
        asks(names, f"9.9.9.{number}")
    assert asks(names, ADDRESS) == [True]
    assert len(names.unnamed) == 4
