"""Connections of a server that stops: each request that arrives within a second is answered."""

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
