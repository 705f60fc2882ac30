import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from config.server.connections import GRACE_SECONDS, Connections
from tests.gateway.wire import Echo, chunked, post, read_all, served, settled, until

HEAD_SECONDS, BODY_SECONDS, SEND_SECONDS, KEEP_ALIVE_SECONDS = 10, 30, 30, 65


class Clock:
    """Run the server's sweep at times set by the test."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.now = asyncio.get_running_loop().time()

    async def after(self, seconds: float) -> int:
        """Return the number of connections after this many seconds."""
        for connection in list(self.connections.open):
            self.connections.look_at(connection, self.now)
        self.now += seconds
        for connection in list(self.connections.open):
            self.connections.look_at(connection, self.now)
        await settled()
        return len(self.connections.open)


@asynccontextmanager
async def connected(application=None) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter, Clock]]:
    """Yield a client's reader and writer, and the clock of its server."""
    async with served(application or Echo()) as (address, connections):
        reader, writer = await asyncio.open_connection(*address)
        await until(lambda: connections.open)
        yield reader, writer, Clock(connections)
        writer.close()


async def answer(send, status: int) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


async def test_a_connection_that_sends_nothing_ends():
    async with connected() as (reader, _, clock):
        assert await clock.after(HEAD_SECONDS - 1) == 1
        assert await clock.after(2) == 0
        assert await read_all(reader) == b""


@pytest.mark.parametrize("before", [b"", post(b"/before")])
async def test_a_head_a_byte_at_a_time_ends_however_steadily_it_comes(before):
    async with connected() as (_, writer, clock):
        writer.write(before)
        await settled()
        for byte in b"GET / HTT":
            writer.write(bytes([byte]))
            await asyncio.sleep(0.002)
            assert await clock.after(1) == 1
        writer.write(b"P")
        assert await clock.after(2) == 0


async def test_a_connection_that_is_used_again_stays_and_ends_when_it_is_idle():
    async with connected() as (reader, writer, clock):
        for _ in range(3):
            writer.write(post())
            await reader.readuntil(b">")
            assert await clock.after(KEEP_ALIVE_SECONDS - 1) == 1
        writer.write(b"\r\n")  # line ends do not count as use
        await settled()
        assert await clock.after(2) == 0


@pytest.mark.parametrize("sent", [post()[:-1], chunked()[:-9]])
async def test_a_body_that_does_not_come_ends_its_connection(sent):
    async with connected() as (_, writer, clock):
        writer.write(sent)
        await settled()
        assert await clock.after(BODY_SECONDS) == 1  # the reader answers first
        assert await clock.after(GRACE_SECONDS + 1) == 0


async def test_the_rest_of_a_body_whose_request_has_been_answered_is_not_awaited_for_ever():
    async def refuse(scope, receive, send):
        await answer(send, 413)

    async with connected(refuse) as (reader, writer, clock):
        writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(BODY_SECONDS + GRACE_SECONDS - 1):
            writer.write(b"some more")
            assert await clock.after(1) == 1
        assert await clock.after(2) == 0


async def test_a_request_may_take_as_long_as_the_server_needs():
    done = asyncio.Event()

    async def slow(scope, receive, send):
        await done.wait()
        await answer(send, 200)

    async with connected(slow) as (reader, writer, clock):
        writer.write(post() + b"GET /next")
        await settled()
        assert await clock.after(1000) == 1
        done.set()
        assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")


def stream(parts: int, sent: list[int], ended: asyncio.Event, size: int = 1024 * 1024):
    """An application that sends this number of parts, as fast as the client reads."""

    async def application(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(parts):
            await send({"type": "http.response.body", "body": bytes(size), "more_body": True})
            sent.append(number)
        await send({"type": "http.response.body", "body": b""})
        ended.set()

    return application


@pytest.mark.parametrize(("parts", "size"), [(1, 20_000_000), (20, 1_000_000)])
async def test_an_unread_reply_ends_together_with_its_producer(parts, size):
    ended = asyncio.Event()
    async with connected(stream(parts, [], ended, size)) as (reader, writer, clock):
        reader._transport.pause_reading()
        writer.write(b"GET /a?b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        await until(lambda: any(connection.flow.write_paused for connection in clock.connections.open))
        await settled()
        assert await clock.after(SEND_SECONDS - 1) == 1
        assert await clock.after(2) == 0
        await asyncio.wait_for(ended.wait(), 60)


async def test_a_reply_that_is_read_slowly_goes_on():
    sent = []
    async with connected(stream(20, sent, asyncio.Event())) as (reader, writer, clock):
        writer.write(b"GET /a?b HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await until(lambda: sent)
        while len(sent) < 20:
            for _ in range(40):
                await reader.read(65_536)
                await asyncio.sleep(0)
            assert await clock.after(SEND_SECONDS - 1) == 1


async def test_the_server_sweeps_by_itself(monkeypatch):
    monkeypatch.setattr("config.server.connections.SWEEP_SECONDS", 0.01)
    async with connected() as (reader, _, clock):
        clock.connections.seconds = dict.fromkeys(clock.connections.seconds, 0.05)
        assert await asyncio.wait_for(read_all(reader), 60) == b""
