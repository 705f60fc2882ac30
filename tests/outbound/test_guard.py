"""Requests to user-supplied URLs reach only public addresses (docs/explanation/security.md)."""

import asyncio
import socket
import threading
from contextlib import suppress
from ipaddress import ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.outbound.client import Client, Unreachable
from kit.outbound.destinations import DestinationRefused, check_url, is_public
from tests.examples import examples
from tests.outbound.addresses import HOSTILE, INSIDE, SPELLINGS
from tests.outbound.receivers import Names, certificate_of, receiver


def send(url, client=None, **options):
    return asyncio.run((client or Client()).send("POST", url, body=b"{}", **options))


@pytest.mark.parametrize("url", HOSTILE)
def test_a_hostile_url_is_refused_by_its_text_and_reaches_nobody(url):
    with pytest.raises(DestinationRefused):
        check_url(url.format(port=443))
    with receiver() as inside:
        # The system resolves names, so that spellings of addresses mean the same as there.
        with pytest.raises((DestinationRefused, Unreachable)):
            send(url.format(port=inside.port), seconds=5)
        assert inside.connections == 0


@pytest.mark.parametrize("url", SPELLINGS)
def test_an_address_has_one_spelling(url):
    for allow_private in (False, True):
        with pytest.raises(DestinationRefused, match="four decimal numbers"):
            check_url(url, allow_private=allow_private)


# Numbers as inet_aton reads them: decimal, octal, hexadecimal; of one octet or of several.
OCTETS = st.builds(
    lambda number, written: written.format(number),
    st.integers(0, 255) | st.integers(0, 2**32),
    st.sampled_from(["{}", "0{:o}", "00{:o}", "0x{:x}", "0X{:X}", "0{}"]),
)


@settings(max_examples=examples(3_000), deadline=None)
@given(st.lists(st.one_of(OCTETS, st.text("0123456789abcdefx", max_size=10)), min_size=1, max_size=5).map(".".join))
def test_only_canonical_addresses_are_accepted(host):
    try:
        read = socket.inet_aton(host)
    except OSError:
        return
    with suppress(DestinationRefused):
        check_url(f"https://{host}/")
        assert host == socket.inet_ntoa(read)
        assert is_public(ip_address(host))


@pytest.mark.parametrize("url", INSIDE)
def test_a_name_that_is_never_public_is_refused_except_in_development(url):
    with pytest.raises(DestinationRefused, match="must be a public name"):
        check_url(url)
    check_url(url, allow_private=True)


@pytest.mark.parametrize(("url", "reason"), [
    ("https://example.com./", "without a dot"), ("https://localhost./", "without a dot"),
    ("https://.example.com/", "without a dot"), ("https://example.com:0/", "port"),
])  # fmt: skip
def test_a_name_begins_and_ends_without_a_dot_and_port_0_is_refused(url, reason):
    for allow_private in (False, True):
        with pytest.raises(DestinationRefused, match=reason):
            check_url(url, allow_private=allow_private)


@pytest.mark.parametrize("answer", ["127.0.0.1", "::1", "93.184.215.14 127.0.0.1", "::ffff:7f00:1"])
def test_a_name_with_any_address_inside_is_refused(answer):
    with pytest.raises(DestinationRefused, match="public addresses"):
        send("https://hooks.example/", Client(resolve=Names(answer)))


def test_a_name_that_changes_its_answer_is_asked_once_and_reaches_nobody(monkeypatch):
    connected = []

    class Plain:
        async def connect_tcp(self, host, port, *args):
            connected.append((host, port))
            raise DestinationRefused("Enough is known.")

    names = Names("93.184.215.14", "127.0.0.1")
    client = Client(resolve=names)
    client.plain = Plain()
    with pytest.raises(DestinationRefused, match="Enough"):
        send("https://hooks.example/", client)
    assert (names.asked, connected) == (["hooks.example"], [("93.184.215.14", 443)])
    with pytest.raises(DestinationRefused, match="public addresses"):  # the next attempt checks again
        send("https://hooks.example/", client)
    assert (len(names.asked), len(connected)) == (2, 1)


@pytest.mark.parametrize("text", ["8.8.8.8", "93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "172.32.0.1"])
def test_public_addresses_are_public(text):
    assert is_public(ip_address(text))


@pytest.mark.parametrize("url", [
    "https://example.com/a?b=c", "https://EXAMPLE.com:443", "https://8.8.8.8/hook", "https://1e100.net/",
    "https://7.example/", "https://0x7f.example/", "https://xn--bcher-kva.example/", "https://local.example/",
    "https://notlocalhost.example/", "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/",
])  # fmt: skip
def test_an_ordinary_url_is_taken(url):
    check_url(url)


def test_the_name_is_verified_and_named_to_the_server_though_the_address_is_connected_to(tmp_path):
    server, trusting = certificate_of("hooks.example", tmp_path)
    with receiver(tls=server) as there:
        client = Client(allow_private=True, resolve=Names("127.0.0.1"), certificates=trusting)
        reply = send(f"https://hooks.example:{there.port}/in?x=1", client)
        assert (reply.status, reply.body) == (200, b"ok")
        assert there.names == ["hooks.example"]
        assert there.requests[0].startswith(b"POST /in?x=1 HTTP/1.1\r\n")
        assert b"Host: hooks.example:%d\r\n" % there.port in there.requests[0]


def test_a_certificate_of_another_name_is_refused(tmp_path):
    server, trusting = certificate_of("other.example", tmp_path)
    with receiver(tls=server) as there:
        client = Client(allow_private=True, resolve=Names("127.0.0.1"), certificates=trusting)
        with pytest.raises(Unreachable, match="certificate"):
            send(f"https://hooks.example:{there.port}/", client)
        assert there.requests == []


def test_redirects_and_proxies_of_the_environment_are_not_followed(monkeypatch):
    with receiver() as inside:
        to = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n" % inside.port
        with receiver(to) as there:
            assert send(f"http://127.0.0.1:{there.port}/", Client(allow_private=True)).status == 302
        assert inside.connections == 0
    with receiver() as proxy, receiver() as there:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert send(f"http://127.0.0.1:{there.port}/", Client(allow_private=True)).status == 200
        assert (proxy.connections, there.connections) == (0, 1)


def test_of_a_long_reply_the_beginning_is_read():
    def endless(connection: socket.socket, request: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        with suppress(OSError):
            while True:
                connection.sendall(b"x" * 65536)

    with receiver(endless) as there:
        reply = send(f"http://127.0.0.1:{there.port}/", Client(allow_private=True))
        assert reply.body == b"x" * 65536


@pytest.mark.parametrize("beginning", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_a_reply_that_drips_ends_with_the_time_of_the_request(beginning):
    over = threading.Event()

    def drip(connection: socket.socket, request: bytes) -> None:
        connection.sendall(beginning)
        with suppress(OSError):
            while not over.wait(0.02):
                connection.sendall(b"x")

    with receiver(drip) as there:
        try:
            with pytest.raises(Unreachable, match="no complete reply"):
                send(f"http://127.0.0.1:{there.port}/", Client(allow_private=True), seconds=0.5)
        finally:
            over.set()
