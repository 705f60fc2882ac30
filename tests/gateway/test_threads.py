import asyncio
from io import BytesIO
from threading import Semaphore

import pytest

from config.server.thread_pools import MAX_BYTES, Threads
from kit.http.bodies import Disconnected
from kit.http.errors import RateLimitExceeded, ServiceUnavailable

SCOPE = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "http_version": "1.1", "headers": []}


class Work:
    """A WSGI application whose requests block until released."""

    def __init__(self):
        self.begun = []  # paths of requests that have begun
        self.go_on = Semaphore(0)

    def __call__(self, environ, start_response):
        self.begun.append(environ["PATH_INFO"])
        self.go_on.acquire(timeout=60)
        start_response("200 OK", [])
        return [b"done"]


def receive_until(left):
    """Return ASGI's `receive` of a request whose client leaves when this future is done."""

    async def receive():
        await left
        return {"type": "http.disconnect"}

    return receive


class Clients:
    """Send requests to two threads, of which a caller may use one."""

    def __init__(self, **options):
        self.work = Work()
        self.threads = Threads(self.work, "heavy", 2, **{"share": 1, "patience": 60, **options})
        self.replies = []

    async def send(self, message):
        self.replies.append(message)

    def ask(self, caller, *, size=0, left=None):
        receive = receive_until(left or asyncio.get_running_loop().create_future())
        return asyncio.create_task(
            self.threads.serve({**SCOPE, "path": caller}, BytesIO(), receive, self.send, caller, size)
        )

    async def until_begun(self, count):
        async with asyncio.timeout(60):
            while len(self.work.begun) < count:
                await asyncio.sleep(0)

    async def let_go(self, *tasks):
        self.work.go_on.release(100)
        await asyncio.wait_for(asyncio.gather(*tasks), 60)
        async with asyncio.timeout(60):
            while self.threads.running:
                await asyncio.sleep(0)


async def test_a_caller_with_its_share_waits_while_others_are_served():
    clients = Clients()
    first, second = clients.ask("a"), clients.ask("a")
    await clients.until_begun(1)
    other = clients.ask("b")
    await clients.until_begun(2)
    assert (dict(clients.threads.running), len(clients.threads.waiting["a"])) == ({"a": 1, "b": 1}, 1)
    await clients.let_go(first, second, other)
    assert clients.work.begun == ["a", "b", "a"]


async def test_callers_come_in_turn_however_much_one_of_them_asks_for():
    clients = Clients(share=2)
    tasks = [clients.ask("a") for _ in range(4)]
    await clients.until_begun(2)
    tasks.append(clients.ask("b"))
    for begun in (3, 4):
        clients.work.go_on.release()
        await clients.until_begun(begun)
    assert clients.work.begun == ["a", "a", "a", "b"]
    await clients.let_go(*tasks)


async def test_a_client_that_waits_too_long_for_its_own_requests_is_rate_limited():
    clients = Clients(patience=0)
    first = clients.ask("a")
    await clients.until_begun(1)
    with pytest.raises(RateLimitExceeded) as refused:
        await clients.ask("a")
    assert refused.value.retry_after
    assert not clients.threads.waiting
    await clients.let_go(first)


async def test_a_client_that_waits_too_long_for_others_gets_service_unavailable():
    clients = Clients(patience=0)
    running = [clients.ask("a"), clients.ask("b")]
    await clients.until_begun(2)
    with pytest.raises(ServiceUnavailable) as refused:
        await clients.ask("c")
    assert refused.value.retry_after
    await clients.let_go(*running)


@pytest.mark.parametrize(
    ("options", "size"), [({"most_waiting": 1}, 0), ({}, MAX_BYTES)], ids=["many requests", "many bytes"]
)
async def test_too_many_requests_and_bytes_that_wait_are_refused_at_once(options, size):
    clients = Clients(**options)
    tasks = [clients.ask("a"), clients.ask("a", size=size)]
    await clients.until_begun(1)
    with pytest.raises(RateLimitExceeded):
        await clients.ask("a", size=1)
    await clients.let_go(*tasks)


async def test_the_work_of_a_client_that_goes_while_it_waits_never_begins():
    clients = Clients()
    first = clients.ask("a")
    await clients.until_begun(1)
    left = asyncio.get_running_loop().create_future()
    second = clients.ask("a", left=left)
    await asyncio.sleep(0)
    left.set_result(None)
    with pytest.raises(Disconnected):
        await second
    await clients.let_go(first)
    assert clients.work.begun == ["a"]


async def test_a_thread_is_given_back_though_its_reply_is_not_read():
    clients = Clients()
    clients.work.go_on.release(100)
    unread = asyncio.Event()

    async def send(message):
        await unread.wait()

    receive = receive_until(asyncio.get_running_loop().create_future())
    first = asyncio.create_task(clients.threads.serve(dict(SCOPE), BytesIO(), receive, send, "a", 0))
    await asyncio.wait_for(clients.ask("a"), 60)
    assert not first.done()
    unread.set()
    await clients.let_go(first)


async def test_an_address_without_a_key_has_a_smaller_share_than_an_account():
    clients = Clients(share=2, strangers_share=1)
    strangers = [clients.ask("address:192.0.2.1"), clients.ask("address:192.0.2.1")]
    await clients.until_begun(1)
    account = clients.ask("account:a")
    await clients.until_begun(2)
    assert clients.work.begun == ["address:192.0.2.1", "account:a"]
    await clients.let_go(*strangers, account)
