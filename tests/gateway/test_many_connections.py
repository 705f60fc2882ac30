import asyncio

import pytest

from config.server.connections import Connections
from tests.gateway.wire import Echo, post, read_all, served, settled, statuses, until

BOUND = 3


async def opened(address: tuple[str, int], count: int) -> list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    return [await asyncio.open_connection(*address) for _ in range(count)]


async def close(clients: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]) -> None:
    for _, writer in clients:
        writer.close()


@pytest.fixture
def everybody_counts(monkeypatch):
    """Apply the limits to local clients, too."""
    monkeypatch.setattr(Connections, "counted_client", lambda connections, peer: peer)


async def test_an_address_has_so_many_connections_and_may_open_another_when_one_has_ended(everybody_counts):
    async with served(Echo()) as (address, connections):
        connections.most_of_one = BOUND
        first = await opened(address, BOUND)
        await until(lambda: len(connections.open) == BOUND)
        [(reader, _)] = beyond = await opened(address, 1)
        assert await read_all(reader) == b""
        first[0][1].close()
        await until(lambda: len(connections.open) == BOUND - 1)
        [(reader, writer)] = another = await opened(address, 1)
        writer.write(post())
        assert (await reader.readuntil(b">")).startswith(b"HTTP/1.1 200")
        await close(first + beyond + another)
        await until(lambda: not connections.open)
        assert not connections.by_client


async def test_all_together_have_so_many_connections():
    async with served(Echo()) as (address, connections):
        connections.most = BOUND
        first = await opened(address, BOUND)
        await until(lambda: len(connections.open) == BOUND)
        [(reader, _)] = beyond = await opened(address, 1)
        assert await read_all(reader) == b""
        await close(first + beyond)


@pytest.mark.parametrize(
    ("peer", "client"),
    [
        ("203.0.113.9", "203.0.113.9"), ("2001:db8::1", "20010db800000000"), ("127.0.0.1", None), ("::1", None),
        ("::ffff:127.0.0.1", None), ("10.1.2.3", None), ("", None),
    ],
)  # fmt: skip
async def test_this_machine_and_proxies_are_no_single_clients(settings, peer, client):
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
    async with served(Echo()) as (_, connections):
        assert connections.counted_client(peer) == client


def stalled(size: int) -> bytes:
    """The greater part of a body whose rest never arrives."""
    return post(b"/a", bytes(size * 2))[:-size]


async def test_bodies_under_way_have_so_much_memory_together_and_leave_it_when_they_end():
    async with served(Echo()) as (address, connections):
        connections.body_memory.most = 250_000
        clients = await opened(address, 3)
        for _, writer in clients[:2]:
            writer.write(stalled(100_000))
            await until(lambda: connections.body_memory.held)
        await until(lambda: connections.body_memory.held == 200_000)
        clients[2][1].write(stalled(100_000))
        refused = await read_all(clients[2][0])
        assert statuses(refused) == [503]
        assert b"retry-after: 1" in refused
        await close(clients)
        await until(lambda: not connections.body_memory.held)


async def test_one_client_has_a_quarter_of_that_memory(everybody_counts):
    async with served(Echo()) as (address, connections):
        connections.body_memory.most = 400_000
        [(reader, writer)] = clients = await opened(address, 1)
        writer.write(stalled(110_000))
        assert statuses(await read_all(reader)) == [503]
        await close(clients)
        await until(lambda: not connections.body_memory.held_by_client)


async def test_a_body_takes_memory_until_its_request_has_been_served_though_its_client_has_gone():
    go_on = asyncio.Event()

    async def application(scope, receive, send):
        await go_on.wait()

    async with served(application) as (address, connections):
        clients = await opened(address, 1)
        clients[0][1].write(post(b"/a", bytes(50_000)))
        await until(lambda: connections.body_memory.held == 50_000)
        await close(clients)
        await until(lambda: not connections.open)
        assert connections.body_memory.held == 50_000
        go_on.set()
        await until(lambda: not connections.body_memory.held)


@pytest.mark.slow
async def test_of_requests_sent_at_once_few_are_taken_apart_before_their_turn():
    """A parsed request takes a hundred times its size on the wire."""
    go_on = asyncio.Event()
    served_paths = []

    async def application(scope, receive, send):
        await go_on.wait()
        served_paths.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async with served(application) as (address, connections):
        [(reader, writer)] = await opened(address, 1)
        sent = b"".join(b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n" % number for number in range(5_000))
        writer.write(sent + b"GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        await until(lambda: connections.body_memory.held)
        [connection] = connections.open
        await settled()
        assert len(connection.pipeline) < 250
        go_on.set()
        assert len(statuses(await read_all(reader))) == 5_001
        assert served_paths == [*(f"/{number}" for number in range(5_000)), "/last"]
        assert not connections.body_memory.held
