"""Host names of addresses by DNS, from a local name server."""

import socket
from contextlib import contextmanager
from functools import partial
from ipaddress import ip_address
from threading import Thread

import dns.asyncresolver
import dns.message
import dns.rcode
import dns.rdatatype
import dns.reversename
import dns.rrset
import pytest
from asgiref.sync import async_to_sync

from licensing.edge.verification import reverse_dns
from licensing.edge.verification.reverse_dns import AddressNames, LookupFailed, confirmed_name
from tests.edge.named_crawlers import ADDRESS, SEARCHED, SEEKER

REVERSED = "4.4.8.8.in-addr.arpa."
SERVFAIL = 2


@contextmanager
def name_server(records):
    """A local name server with these records by (name, type). An int is an error code; None is no answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def serve():
            while True:
                packet, client = server.recvfrom(4096)
                if not packet:
                    return
                question = dns.message.from_wire(packet)
                [asked] = question.question
                name, kind = asked.name.to_text().lower(), dns.rdatatype.to_text(asked.rdtype)
                found = records.get((name, kind), ())
                if found is None:
                    continue
                reply = dns.message.make_response(question)
                if isinstance(found, int):
                    reply.set_rcode(found)
                elif found:
                    reply.answer.append(dns.rrset.from_text(asked.name, 60, "IN", kind, *found))
                elif not any(known == name for known, _ in records):
                    reply.set_rcode(dns.rcode.NXDOMAIN)
                server.sendto(reply.to_wire(), client)

        thread = Thread(target=serve)
        thread.start()
        resolver = dns.asyncresolver.Resolver(configure=False)
        resolver.nameservers, resolver.port = ["127.0.0.1"], server.getsockname()[1]
        try:
            yield resolver
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
                last.sendto(b"", server.getsockname())
            thread.join()


def confirmed(records, address=ADDRESS):
    with name_server(records) as resolver:
        return async_to_sync(confirmed_name)(ip_address(address), resolver)


def test_a_name_counts_that_has_the_address_in_turn():
    records = {
        (REVERSED, "PTR"): ["Crawl-1.Seeker.example."],
        ("crawl-1.seeker.example.", "A"): ["192.0.2.1", ADDRESS],
    }
    assert confirmed(records) == "crawl-1.seeker.example"
    reversed_ = dns.reversename.from_address("2606:4700::1111").to_text()
    records = {(reversed_, "PTR"): ["crawl.seeker.example."], ("crawl.seeker.example.", "AAAA"): ["2606:4700::1111"]}
    assert confirmed(records, "2606:4700::1111") == "crawl.seeker.example"
    for records in [
        {(REVERSED, "PTR"): ["crawl-1.seeker.example."], ("crawl-1.seeker.example.", "A"): ["192.0.2.1"]},
        {(REVERSED, "PTR"): ["crawl-1.seeker.example."]},
        {},
    ]:
        assert confirmed(records) is None


@pytest.mark.parametrize(
    "records",
    [
        {(REVERSED, "PTR"): SERVFAIL},
        {(REVERSED, "PTR"): ["crawl-1.seeker.example."], ("crawl-1.seeker.example.", "A"): SERVFAIL},
    ],
)
def test_name_servers_that_do_not_answer_say_nothing_about_the_address(records):
    with pytest.raises(LookupFailed):
        confirmed(records)


def test_silent_name_servers_fail_the_lookup_in_time(monkeypatch):
    monkeypatch.setattr(reverse_dns, "LOOKUP_SECONDS", 0.05)
    with pytest.raises(LookupFailed):
        confirmed({(REVERSED, "PTR"): None})


def test_a_crawler_is_known_by_real_dns_on_its_first_visit(ask, site, seeker, forwards):
    site(SEARCHED)
    records = {(REVERSED, "PTR"): ["a-1.crawl.seeker.example."], ("a-1.crawl.seeker.example.", "A"): [ADDRESS]}
    with name_server(records) as resolver:
        forwards.names = AddressNames(partial(confirmed_name, resolver=resolver))
        assert ask("/premium/a", user_agent=SEEKER, x_forwarded_for=ADDRESS).status == 200
