"""Threads for Django, shared fairly among callers. Requests wait for a thread on the event loop.

A caller is an account or, without a key, an address. It may use its share of the threads at once; waiting callers take
turns. A caller is refused with 429 if too many of its requests wait, or if its own requests keep the next waiting too
long; with 503 if those of others do.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import BinaryIO
from wsgiref.types import WSGIApplication

from config.server.bridge import Exchange
from kit.http.bodies import Disconnected, Receive, Scope, Send
from kit.http.errors import ApiError, RateLimitExceeded, ServiceUnavailable
from kit.telemetry.metrics import Counter as CountedPlaces

MAX_WAITING = 500  # waiting requests per caller
MAX_HEAVY_WAITING = 100  # heavy requests per caller; waiting is better than being refused and retrying
MAX_BYTES = 16 * 1024 * 1024  # bytes of their bodies per caller
MAX_BYTES_IN_ALL = 64 * 1024 * 1024
SECONDS_FOR_THREAD = 30  # how long to wait for a thread; less for heavy requests, because some run for minutes
SECONDS_FOR_HEAVY_THREAD = 10
RETRY_AFTER = 5  # seconds
HEAVY_REST = 3  # multiple of a heavy request's CPU time; so two threads of one account use half of the interpreter
MAX_REST = 1.0  # seconds
QUICK_SECONDS = 0.1  # seconds of CPU time without a rest; one or two reports delay no one

ACCOUNT = "account:"  # prefix of callers that are accounts
POOLS = ("ordinary", "heavy", "metrics")
refused = CountedPlaces(
    "licensing_thread_refusals",
    "Requests that found no thread: a caller had its share and more waiting (429), or all were busy (503).",
    pool=POOLS,
    status=("429", "503"),
)


async def wait_for_end(receive: Receive) -> None:
    """Wait until the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def identity(scope: Scope) -> Scope:
    return scope


class Waiting:
    """A waiting request, with the bytes that it keeps in memory."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class Threads:
    """`count` threads that run a WSGI application, for one event loop.

    An account may use `share` of them, an address `strangers_share` (default: the same). A request waits up to
    `patience` seconds, and a caller may have `most_waiting` requests waiting. After a request, its thread rests for
    `rest` times the CPU time beyond QUICK, so that endless long requests leave most of the interpreter to others.
    """

    def __init__(
        self,
        wsgi: WSGIApplication,
        pool: str,
        count: int,
        *,
        share: int,
        strangers_share: int | None = None,
        patience: float,
        most_waiting: int = MAX_WAITING,
        rest: float = 0,
    ) -> None:
        self.wsgi = wsgi
        self.pool = pool
        self.count = count
        self.share = share
        self.strangers_share = share if strangers_share is None else strangers_share
        self.patience = patience
        self.most_waiting = most_waiting
        self.rest = rest
        self.executor = ThreadPoolExecutor(count, thread_name_prefix=pool)
        self.running: Counter[str] = Counter()
        self.waiting: OrderedDict[str, deque[Waiting]] = OrderedDict()  # the next caller comes first
        self.bytes_waiting: Counter[str] = Counter()

    async def serve(
        self,
        scope: Scope,
        body: BinaryIO,
        receive: Receive,
        send: Send,
        caller: str,
        size: int,
        prepare: Callable[[Scope], Awaitable[Scope]] = identity,
    ) -> None:
        """Serve the request, whose body has been received. Raises Disconnected, 429 or 503.

        `prepare` is awaited at the request's turn, and returns the scope for the application.
        """
        await self.turn(caller, size, receive)
        try:
            exchange = Exchange(self.wsgi, await prepare(scope), body, send)
            work = self.executor.submit(copy_context().run, exchange.run)
        except BaseException:
            self.leave(caller)
            raise
        # The turn ends with the thread's work, not when the client has read the reply.
        end_turn = partial(self.end_turn, caller, exchange)
        work.add_done_callback(partial(exchange.loop.call_soon_threadsafe, end_turn))
        reply = await asyncio.wrap_future(work)
        if reply is not None:
            await exchange.answer(reply)

    async def turn(self, caller: str, size: int, receive: Receive) -> None:
        """Wait until the caller may use one more thread, to be returned with `leave`."""
        if self.running.total() < self.count and self.has_room(caller):
            self.running[caller] += 1
            return
        waiting = self.line_up(caller, size)
        client_left = asyncio.create_task(wait_for_end(receive))
        try:
            await asyncio.wait({waiting.turn, client_left}, timeout=self.patience, return_when=asyncio.FIRST_COMPLETED)
            has_left = client_left.done()
        finally:
            client_left.cancel()
            if not waiting.turn.done():
                self.waiting[caller].remove(waiting)
                self.forget(caller, waiting)
        if waiting.turn.done():
            return
        if has_left:
            raise Disconnected
        raise self.refusal(503 if self.has_room(caller) else 429)

    def has_room(self, caller: str) -> bool:
        share = self.share if caller.startswith(ACCOUNT) else self.strangers_share
        return self.running[caller] < share

    def line_up(self, caller: str, size: int) -> Waiting:
        if len(self.waiting.get(caller, ())) >= self.most_waiting or self.bytes_waiting[caller] + size > MAX_BYTES:
            raise self.refusal(429)
        if self.bytes_waiting.total() + size > MAX_BYTES_IN_ALL:
            raise self.refusal(503)
        waiting = Waiting(size)
        self.waiting.setdefault(caller, deque()).append(waiting)
        self.bytes_waiting[caller] += size
        return waiting

    def forget(self, caller: str, waiting: Waiting) -> None:
        self.bytes_waiting[caller] -= waiting.size
        if not self.waiting[caller]:
            del self.waiting[caller], self.bytes_waiting[caller]

    def end_turn(self, caller: str, exchange: Exchange, work: Future[bytes | None]) -> None:
        """Return the thread of a request after its rest."""
        rest = self.rest * max(exchange.used - QUICK_SECONDS, 0)
        exchange.loop.call_later(min(rest, MAX_REST), self.leave, caller)

    def leave(self, caller: str) -> None:
        """Return a thread and pass it to the next waiting caller below its share."""
        self.running[caller] -= 1
        if not self.running[caller]:
            del self.running[caller]
        for following in self.waiting:
            if self.has_room(following):
                break
        else:
            return
        self.waiting.move_to_end(following)
        waiting = self.waiting[following].popleft()
        self.forget(following, waiting)
        self.running[following] += 1
        waiting.turn.set_result(None)

    def refusal(self, status: int) -> ApiError:
        refused.values[refused.place(self.pool, str(status))] += 1
        kind = "such requests" if self.pool == "heavy" else "requests"
        if status == 429:
            return RateLimitExceeded(
                f"You have as many {kind} under way as one account or address may, and others waiting. "
                f"Try again in {RETRY_AFTER} seconds.",
                retry_after=RETRY_AFTER,
            )
        return ServiceUnavailable(
            f"As many {kind} as this service answers at a time are under way. Try again in {RETRY_AFTER} seconds.",
            retry_after=RETRY_AFTER,
        )
