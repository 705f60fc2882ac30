"""A stop that answers each request on an accepted connection, so that a proxy sees refused connections at most.

A proxy sends a request to another upstream if its connection was refused. It does not repeat a POST whose connection
was accepted and then reset.
"""

import asyncio
import ctypes
import signal
import struct
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from socket import SOL_SOCKET, socket
from threading import Event
from time import monotonic, sleep
from types import FrameType
from typing import cast

from uvicorn import Config, Server
from uvicorn.supervisors import Multiprocess, multiprocess
from uvicorn.supervisors.multiprocess import Process

POLL_SECONDS = 0.05
ATTACH_FILTER = 26  # SO_ATTACH_FILTER, which the socket module does not name
FILTER = (  # struct sock_filter of linux/filter.h: code, jump if true, jump if false, operand
    (0x30, 0, 0, 13),  # load the byte with the flags of TCP
    (0x54, 0, 0, 0x12),  # leave only SYN and ACK
    (0x15, 0, 1, 0x02),  # only SYN?
    (0x06, 0, 0, 0),  # drop the packet
    (0x06, 0, 0, 0xFFFFFFFF),  # accept it
)


def drop_new_connections(listening: socket) -> None:
    """Let the kernel drop what would open a connection, also for other processes that have this socket.

    A connection that it accepts between the last `accept` and `close` would be reset. A dropped one is tried again by
    its client's kernel, which then finds the port closed. Without effect elsewhere than on Linux.
    """
    if sys.platform == "linux":
        code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in FILTER))
        listening.setsockopt(SOL_SOCKET, ATTACH_FILTER, struct.pack("@HP", len(FILTER), ctypes.addressof(code)))


class Flag(Event):
    """An event without a lock, which a signal handler can set while the same thread waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_up = False

    def is_set(self) -> bool:
        return self.is_up

    def set(self) -> None:
        self.is_up = True

    def wait(self, timeout: float | None = None) -> bool:
        end = monotonic() + (timeout or 0)
        while not self.is_up and (timeout is None or monotonic() < end):
            sleep(POLL_SECONDS)
        return self.is_up


class StoppingServer(Server):
    """Takes the connections that wait in the kernel's queue before it closes the sockets, which would reset them."""

    shares_sockets = False  # with processes that may go on serving

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        listening = [each.dup() for each in sockets or []]
        if not self.shares_sockets:
            for each in listening:
                drop_new_connections(each)
        await asyncio.sleep(POLL_SECONDS)  # for handshakes under way, and for the parent if both got the signal
        for server in self.servers:
            server.close()
        await asyncio.sleep(0)  # closes them
        loop = asyncio.get_running_loop()
        for connection in [connection for each in listening for connection in take_queue(each)]:
            await loop.connect_accepted_socket(self.new_protocol, connection)
        await super().shutdown(sockets)

    def new_protocol(self) -> asyncio.Protocol:
        make = cast("Callable[..., asyncio.Protocol]", self.config.http_protocol_class)
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)


def take_queue(listening: socket) -> list[socket]:
    """Accept every waiting connection, then close the socket."""
    listening.setblocking(False)
    taken = []
    with closing(listening), suppress(OSError):  # the queue is empty, or this process may open no more files
        while True:
            taken.append(listening.accept()[0])
    return taken


class WorkerServer(StoppingServer):
    shares_sockets = True


class Worker(Process):
    @property
    def server(self) -> Server:
        if self._server is None:
            self._server = WorkerServer(self.config)
        return self._server


class Workers(Multiprocess):
    """Worker processes whose parent ends the accepting of connections as soon as it is to stop.

    The kernel accepts connections as long as any process has the socket open. The parent answers none of them.
    """

    should_exit: Event

    def __init__(self, config: Config, sockets: list[socket]) -> None:
        super().__init__(config, sockets)
        vars(multiprocess)["Process"] = Worker  # Multiprocess has no parameter for it
        self.should_exit = Flag()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.stop)

    def stop(self, number: int, frame: FrameType | None) -> None:
        if not self.should_exit.is_set():  # a second signal may come when they are closed
            self.should_exit.set()
            for each in self.sockets:
                drop_new_connections(each)

    def terminate_all(self) -> None:
        for each in self.sockets:
            each.close()
        super().terminate_all()
