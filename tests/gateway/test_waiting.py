import asyncio
from collections.abc import Awaitable, Callable

import pytest

from config.server.connections import GRACE_SECONDS, Connections
from tests.gateway.wire import Echo, chunked, post, read_all, served, settled, until

Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]
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


def with_client(test: Callable[[Client, Clock], Awaitable[None]], application=None) -> None:
    async def run() -> None:
        async with served(application or Echo()) as (address, connections):
            client = await asyncio.open_connection(*address)
            await until(lambda: connections.open)
            await test(client, Clock(connections))
            client[1].close()

    asyncio.run(run())


def test_a_connection_that_sends_nothing_ends():
    async def silent(client, clock):
        assert await clock.after(HEAD_SECONDS - 1) == 1
        assert await clock.after(2) == 0
        assert await read_all(client[0]) == b""

    with_client(silent)


@pytest.mark.parametrize("before", [b"", post(b"/before")])
def test_a_head_a_byte_at_a_time_ends_however_steadily_it_comes(before):
    async def dawdling(client, clock):
        client[1].write(before)
        await settled()
        for byte in b"GET / HTT":
            client[1].write(bytes([byte]))
            await asyncio.sleep(0.002)
            assert await clock.after(1) == 1
        client[1].write(b"P")
        assert await clock.after(2) == 0

    with_client(dawdling)


def test_a_connection_that_is_used_again_stays_and_ends_when_it_is_idle():
    async def coming_again(client, clock):
        for _ in range(3):
            client[1].write(post())
            await client[0].readuntil(b">")
            assert await clock.after(KEEP_ALIVE_SECONDS - 1) == 1
        assert await clock.after(2) == 0

    with_client(coming_again)


def test_line_ends_do_not_keep_an_idle_connection():
    async def idle(client, clock):
        client[1].write(post())
        await client[0].readuntil(b">")
        assert await clock.after(KEEP_ALIVE_SECONDS - 1) == 1
        client[1].write(b"\r\n")
        await settled()
        assert await clock.after(2) == 0

    with_client(idle)


@pytest.mark.parametrize("sent", [post()[:-1], chunked()[:-9]])
def test_a_body_that_does_not_come_ends_its_connection(sent):
    async def stalled(client, clock):
        client[1].write(sent)
        await settled()
        assert await clock.after(BODY_SECONDS) == 1  # the reader answers first
        assert await clock.after(GRACE_SECONDS + 1) == 0

    with_client(stalled)


def test_the_rest_of_a_body_whose_request_has_been_answered_is_not_awaited_for_ever():
    async def refuse(scope, receive, send):
        await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async def sending_on(client, clock):
        client[1].write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        await client[0].readuntil(b"\r\n\r\n")
        for _ in range(BODY_SECONDS + GRACE_SECONDS - 1):
            client[1].write(b"some more")
            assert await clock.after(1) == 1
        assert await clock.after(2) == 0

    with_client(sending_on, refuse)


def test_a_request_may_take_as_long_as_the_server_needs():
    done = asyncio.Event()

    async def slow(scope, receive, send):
        await done.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async def patient(client, clock):
        client[1].write(post() + b"GET /next")
        await settled()
        assert await clock.after(1000) == 1
        done.set()
        assert b"200 OK" in await client[0].readuntil(b"\r\n\r\n")

    with_client(patient, slow)


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
def test_an_unread_reply_ends_together_with_its_producer(parts, size):
    sent, ended = [], asyncio.Event()

    async def not_reading(client, clock):
        client[0]._transport.pause_reading()
        client[1].write(b"GET /a?b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        await until(lambda: any(connection.flow.write_paused for connection in clock.connections.open))
        await settled()
        assert await clock.after(SEND_SECONDS - 1) == 1
        assert await clock.after(2) == 0
        await asyncio.wait_for(ended.wait(), 60)

    with_client(not_reading, stream(parts, sent, ended, size))


def test_a_reply_that_is_read_slowly_goes_on():
    sent, ended = [], asyncio.Event()

    async def reading_slowly(client, clock):
        client[1].write(b"GET /a?b HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await until(lambda: sent)
        while len(sent) < 20:
            for _ in range(40):
                await client[0].read(65_536)
                await asyncio.sleep(0)
            assert await clock.after(SEND_SECONDS - 1) == 1

    with_client(reading_slowly, stream(20, sent, ended))


def test_the_server_sweeps_by_itself(monkeypatch):
    monkeypatch.setattr("config.server.connections.SWEEP_SECONDS", 0.01)

    async def silent(client, clock):
        clock.connections.seconds = dict.fromkeys(clock.connections.seconds, 0.05)
        assert await asyncio.wait_for(read_all(client[0]), 60) == b""

    with_client(silent)
