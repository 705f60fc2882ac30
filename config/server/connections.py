"""A process's connections: their number, and how long each may keep the server waiting.

There are no timers per request. A sweep visits each connection once a second, and aborts those idle for too long.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from itertools import islice
from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit, setrlimit
from typing import Protocol, cast
from weakref import WeakKeyDictionary

from django.conf import settings
from uvicorn.server import ServerState

from kit.http.headers import TrustedProxies, client_network, parse_address
from kit.storage.light_tasks import LightTasks


class BodyMemory:
    """Counts the bytes of bodies in memory. Use only on the server's event loop."""

    def __init__(self) -> None:
        self.most = settings.MAX_BODY_MEMORY_MIB * 1024 * 1024
        self.held = 0
        self.held_by_client: Counter[str] = Counter()

    def hold(self, size: int, client: str | None) -> bool:
        """Count bytes kept in memory; return whether there is room for them. A single client may use a quarter."""
        if not size:
            return True
        self.held += size
        if client is None:
            return self.held <= self.most
        self.held_by_client[client] += size
        return self.held <= self.most and self.held_by_client[client] <= self.most // 4

    def let_go(self, size: int, client: str | None) -> None:
        self.held -= size
        if client is not None:
            self.held_by_client[client] -= size
            if self.held_by_client[client] <= 0:
                del self.held_by_client[client]


logger = logging.getLogger(__name__)

SWEEP_SECONDS = 1.0
CONNECTIONS_PER_LOOK = 250  # connections per step of a sweep, about half a millisecond
PROGRESS = 64 * 1024  # bytes that a slow client must read within SEND_SECONDS
GRACE_SECONDS = 5  # lets the reader of a late body answer first
WARN_SECONDS = 60.0
SPARE_FILES = 256  # descriptors for databases, files and listening sockets


class Wait(Enum):
    """What the server waits for on a connection."""

    REQUEST = "the next request"
    HEAD = "the head of a request"
    BODY = "the body of a request"
    READER = "its client to read a reply"


class Connection(Protocol):
    """The attributes of a connection that this module uses: uvicorn's, and some of this server."""

    transport: asyncio.Transport
    loop: asyncio.AbstractEventLoop
    client: tuple[str, int] | None
    headers: list[tuple[bytes, bytes]]
    counted_for: str | None
    drains: int
    watch: "Watch"

    def waits_for(self) -> Wait | None: ...


class Connections:
    """The connections of one server in this process. Use only on its event loop."""

    def __init__(self, state: ServerState) -> None:
        self.open = cast("set[Connection]", state.connections)
        self.tasks = LightTasks(asyncio.get_running_loop(), state.tasks)
        self.proxies = TrustedProxies()
        self.most = connections_at_most(settings.MAX_CONNECTIONS)
        self.most_of_one = settings.MAX_CONNECTIONS_PER_ADDRESS
        self.seconds = {
            Wait.REQUEST: settings.KEEP_ALIVE_SECONDS,
            Wait.HEAD: settings.HEAD_SECONDS,
            Wait.BODY: settings.BODY_SECONDS + GRACE_SECONDS,
            Wait.READER: settings.SEND_SECONDS,
        }
        self.by_client: Counter[str] = Counter()
        self.body_memory = BodyMemory()
        self.sweeping = False
        self.warned_at = -WARN_SECONDS

    # --- How many ----------------------------------------------------------------------------------------------------

    def counted_client(self, peer: str) -> str | None:
        """Return the client that a connection counts for; None for this machine and for proxies, which serve many
        clients.
        """
        address = parse_address(peer)
        if address is None or address.is_loopback or self.proxies.is_trusted_peer(peer):
            return None
        return client_network(address)

    def admit(self, connection: Connection) -> None:
        """Count a new connection, or abort it if there are too many."""
        client = connection.counted_for = self.counted_client(connection.client[0]) if connection.client else None
        self.by_client[client or ""] += 1
        if len(self.open) > self.most:
            self.warn(f"This process has {self.most} connections (MAX_CONNECTIONS); it refuses others.")
            connection.transport.abort()
        elif client is not None and self.by_client[client] > self.most_of_one:
            self.warn(
                f"{client} has {self.most_of_one} connections (MAX_CONNECTIONS_PER_ADDRESS); others are refused."
            )
            connection.transport.abort()
        elif not self.sweeping:
            self.sweeping = True
            connection.loop.call_later(SWEEP_SECONDS, self.sweep, connection.loop)

    def forget(self, connection: Connection) -> None:
        client = connection.counted_for or ""
        self.by_client[client] -= 1
        if not self.by_client[client]:
            del self.by_client[client]

    def warn(self, message: str) -> None:
        """Log a warning at most once a minute, because refused clients may retry endlessly."""
        now = asyncio.get_running_loop().time()
        if now - self.warned_at >= WARN_SECONDS:
            self.warned_at = now
            logger.warning(message)

    # --- How long ----------------------------------------------------------------------------------------------------

    def sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        self.look_at_some(loop, iter(list(self.open)))

    def look_at_some(self, loop: asyncio.AbstractEventLoop, connections: Iterator[Connection]) -> None:
        batch = list(islice(connections, CONNECTIONS_PER_LOOK))
        now = loop.time()
        for connection in batch:
            self.look_at(connection, now)
        if batch:
            loop.call_soon(self.look_at_some, loop, connections)
        elif self.open:
            loop.call_later(SWEEP_SECONDS, self.sweep, loop)
        else:
            self.sweeping = False

    def look_at(self, connection: Connection, now: float) -> None:
        """Abort the connection if it has waited for the same thing for too long."""
        wait = connection.waits_for()
        watch = connection.watch
        if wait is not watch.wait or watch.has_moved(connection):
            watch.begin(wait, connection, now)
        elif wait is not None and now - watch.since >= self.seconds[wait]:
            # close() would wait for the client to read.
            connection.transport.abort()


class Watch:
    """A connection's state at the last sweep."""

    wait: Wait | None = None
    headers: object = None  # of the last request; each request has its own list
    since = 0.0
    drains = 0
    unread = 0

    def begin(self, wait: Wait | None, connection: Connection, now: float) -> None:
        self.wait = wait
        self.headers = connection.headers
        self.since = now
        self.drains = connection.drains
        self.unread = connection.transport.get_write_buffer_size()

    def has_moved(self, connection: Connection) -> bool:
        """Whether a new request has begun, or the client has read a good part of its reply."""
        if connection.headers is not self.headers or connection.drains != self.drains:
            return True
        return connection.transport.get_write_buffer_size() <= self.unread - PROGRESS


connections_by_server: WeakKeyDictionary[ServerState, Connections] = WeakKeyDictionary()


def get_connections(state: ServerState) -> Connections:
    if state not in connections_by_server:
        connections_by_server[state] = Connections(state)
    return connections_by_server[state]


def connections_at_most(requested: int) -> int:
    """Return `wanted`, or fewer if this process may not open that many files."""
    soft, _ = getrlimit(RLIMIT_NOFILE)
    return requested if soft == RLIM_INFINITY else max(1, min(requested, soft - SPARE_FILES))


def allow_connections(requested: int) -> None:
    """Raise the limit on open files of this process and its children as far as `wanted` connections need."""
    soft, hard = getrlimit(RLIMIT_NOFILE)
    files = requested + SPARE_FILES if hard == RLIM_INFINITY else min(requested + SPARE_FILES, hard)
    if soft != RLIM_INFINITY and soft < files:
        setrlimit(RLIMIT_NOFILE, (files, hard))
    allowed = connections_at_most(requested)
    if allowed < requested:
        logger.warning(
            "Each process takes %d connections, not %d: it may have %d files open "
            "(LimitNOFILE, docs/guides/deployment.md).",
            *(allowed, requested, allowed + SPARE_FILES),
        )
