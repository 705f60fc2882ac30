"""A stop that answers each request on a connection that the kernel has accepted.

A proxy sends a request to another upstream if its connection was refused. It does not repeat a POST whose connection
was accepted and then reset.
"""

import asyncio
from collections.abc import Callable
from contextlib import closing, suppress
from socket import socket
from typing import cast

from uvicorn import Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from config.server.connections import Wait

LAST_REQUEST_SECONDS = 1.0  # how long an idle connection may still send one: its client may not know yet


class StoppingProtocol(HttpToolsProtocol):
    """Answers one more request when the server stops, if it arrives in time, then closes the connection.

    A connection that is closed while its client sends a request is reset, and a proxy does not repeat a POST then.
    """

    is_last = False  # whether the connection ends with its next request

    def waits_for(self) -> Wait | None:
        raise NotImplementedError

    def shutdown(self) -> None:
        if self.waits_for() not in (Wait.REQUEST, Wait.HEAD):
            super().shutdown()
            return
        self.is_last = True
        self.loop.call_later(LAST_REQUEST_SECONDS, self.close_unused)

    def close_unused(self) -> None:
        if not self.transport.is_closing() and (self.headers is None or self.waits_for() is Wait.REQUEST):
            self.transport.close()


class StoppingServer(Server):
    """Takes the connections that wait in the kernel's queue before it closes the port, which would reset them."""

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        listening = [each.dup() for each in sockets or []]
        for server in self.servers:
            server.close()
        for each in sockets or []:
            each.close()
        await asyncio.sleep(0)  # closes them: only `listening` keeps the port open in this process
        accepted = [connection for each in listening for connection in take_queue(each)]
        loop = asyncio.get_running_loop()
        for connection in accepted:
            with suppress(OSError):  # its client has reset it
                await loop.connect_accepted_socket(self.new_protocol, connection)
        await super().shutdown()

    def new_protocol(self) -> asyncio.Protocol:
        make = cast("Callable[..., asyncio.Protocol]", self.config.http_protocol_class)
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)


def take_queue(listening: socket) -> list[socket]:
    """Accept every waiting connection, then close the socket."""
    listening.setblocking(False)
    accepted = []
    with closing(listening):
        while True:
            try:
                accepted.append(listening.accept()[0])
            except ConnectionAbortedError:
                continue
            except OSError:  # the queue is empty, or this process may open no more files
                return accepted
