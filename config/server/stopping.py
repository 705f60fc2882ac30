"""A stop that answers each request on an accepted connection, so that a proxy sees refused connections at most.

A proxy sends a request to another upstream if its connection was refused. It does not repeat a POST whose connection
was accepted and then reset.
"""

import asyncio
import signal
from collections.abc import Callable
from contextlib import closing, suppress
from socket import socket
from threading import Event
from time import monotonic, sleep
from types import FrameType
from typing import cast

from uvicorn import Config, Server
from uvicorn.supervisors import Multiprocess, multiprocess
from uvicorn.supervisors.multiprocess import Process

POLL_SECONDS = 0.05  # less than a worker takes to notice its own SIGTERM


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

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        listening = [each.dup() for each in sockets or []]
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


class Worker(Process):
    @property
    def server(self) -> Server:
        if self._server is None:
            self._server = StoppingServer(self.config)
        return self._server


class Workers(Multiprocess):
    """Worker processes whose parent closes its copies of the listening sockets as soon as it is to stop.

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
        self.should_exit.set()

    def terminate_all(self) -> None:
        for each in self.sockets:
            each.close()
        super().terminate_all()
