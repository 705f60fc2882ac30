"""The server's HTTP protocol: uvicorn's with limits on clients, and a faster path for most requests."""

from asyncio import BaseTransport, Transport
from functools import partial
from typing import TYPE_CHECKING, cast

from httptools import HttpParserError, HttpParserUpgrade
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from config.server import requests
from config.server.connections import Wait, Watch, get_connections
from config.server.refusals import cut_short, no_room, refusal, unreadable
from config.server.requests import MAX_HEAD_BYTES, PARSED_AT_ONCE, Cycle, WholeRequest, is_connected, match_plain_path
from config.server.stopping import StoppingProtocol
from kit.http.errors import ApiError, InvalidRequest

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

BETWEEN, HEAD, BODY = range(3)  # the next part of a message: its first byte, its head, or its body


class BoundedProtocol(StoppingProtocol):
    """Limits heads, trailers and memory for bodies. Rejects invalid HTTP after answering the requests before it.

    Drops trailers, so that they never count as headers (RFC 9110, 6.5.1). WholeRequest serves most access checks.
    """

    stage = BETWEEN
    trailers = trailer_bytes = unread_body = 0
    codings = b""  # Transfer-Encoding
    hosts: list[bytes]
    stand_in = b""  # the head that the parser reads again after stopping at one with Upgrade
    unfinished = 0  # bytes read since the message began, or since its last complete head, trailer or piece of body
    may_come_whole = False
    body = b""
    cycle: Cycle  # of the last request read
    running: RequestResponseCycle | None = None  # of the request being served
    refusal: ApiError | None = None  # sent once all earlier requests are answered
    unparsed = b""  # input behind requests that wait for their turn
    drains = 0  # how often the client caught up after the server paused writing
    counted_for: str | None = None

    # --- The connection ----------------------------------------------------------------------------------------------

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(cast(Transport, transport))
        self.watch = Watch()
        self.registry = get_connections(self.server_state)
        self.registry.admit(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.running is not None and self.running is not self.cycle:
            self.running.disconnected = True
            self.running.message_event.set()
        super().connection_lost(exc)
        self.registry.forget(self)
        for cycle, _ in self.pipeline:
            self.let_go(cast(Cycle, cycle))
        self.pipeline.clear()
        self.keep_unparsed(b"")

    def eof_received(self) -> None:
        if self.stage != BETWEEN and self.refusal is None:
            self.refuse(cut_short())

    def resume_writing(self) -> None:
        self.drains += 1
        super().resume_writing()

    def waits_for(self) -> Wait | None:
        """Return what the connection waits for its client to do; None while the server works."""
        if self.transport.get_write_buffer_size():
            return Wait.READER
        if self.running is not None and not self.running.response_complete:
            is_reading = self.stage == BODY and self.running is self.cycle and not self.flow.read_paused
            return Wait.BODY if is_reading else None
        if self.stage == BETWEEN:
            return Wait.HEAD if self.headers is None else Wait.REQUEST
        return Wait.HEAD if self.stage == HEAD else Wait.BODY

    # --- What is read ------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self.refusal is not None:
            return
        if len(data) > PARSED_AT_ONCE or self.pipeline or self.unparsed:
            self.parse_in_turn(data)
        else:
            self.parse(data)
        if self.may_come_whole:  # the request is incomplete
            self.serve_in_parts()

    def parse(self, data: bytes) -> None:
        self.unfinished += len(data)
        try:
            self.parser.feed_data(data)
        # this server speaks no other protocol: the connection continues unchanged
        except HttpParserUpgrade as upgrade:
            if rest := self.stand_in + data[upgrade.args[0] :]:
                self.parse(rest)
        except HttpParserError as error:
            self.refuse(unreadable(error, data))
        else:
            if self.unfinished > MAX_HEAD_BYTES or (self.stage == HEAD and len(self.headers) > requests.MAX_HEADERS):
                self.refuse(InvalidRequest(requests.TOO_LARGE))

    def parse_in_turn(self, data: bytes = b"") -> None:
        """Parse the input piece by piece until a request must wait for the previous one; keep the rest."""
        data = self.unparsed + data
        at = 0
        self.keep_unparsed(b"")
        while at < len(data) and not self.pipeline and self.refusal is None and not self.transport.is_closing():
            self.parse(data[at : at + PARSED_AT_ONCE])
            at += PARSED_AT_ONCE
        if at < len(data) and self.refusal is None:
            self.flow.pause_reading()
            if not self.keep_unparsed(data[at:]):
                self.refuse(no_room())

    def parse_later(self) -> None:
        if self.refusal is None and not self.transport.is_closing():
            self.parse_in_turn()
            if self.may_come_whole:
                self.serve_in_parts()
            if not self.unparsed and not self.pipeline:
                self.flow.resume_reading()

    def keep_unparsed(self, data: bytes) -> bool:
        """Replace the unparsed input. Returns False if there is no memory for it."""
        self.registry.body_memory.let_go(len(self.unparsed), self.counted_for)
        self.unparsed = data
        return self.registry.body_memory.hold(len(data), self.counted_for)

    # --- What the parser finds ---------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self.stand_in:
            return
        self.stage = HEAD
        self.trailers = self.trailer_bytes = self.unfinished = 0
        self.hosts = []
        self.codings = self.body = b""
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        # Runs for every header, so the head's limits are checked per piece of input and once it is complete.
        if self.stage == BODY:
            self.trailers += 1
            self.trailer_bytes += len(name) + len(value)
            self.unfinished = 0
            if len(self.headers) + self.trailers > requests.MAX_HEADERS or self.trailer_bytes > MAX_HEAD_BYTES:
                raise InvalidRequest(requests.TOO_LARGE)
            return
        name = name.lower()
        value = value.rstrip(b" \t")
        if name == b"host":
            self.hosts.append(value)
        elif name == b"transfer-encoding":
            self.codings = self.codings + b"," + value if self.codings else value
        elif name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self.stand_in:
            self.stand_in = b""
            return
        # The bytes read include what follows the head in its last piece.
        if len(self.headers) > requests.MAX_HEADERS or (
            self.unfinished > MAX_HEAD_BYTES - PARSED_AT_ONCE and requests.headers_size(self.headers) > MAX_HEAD_BYTES
        ):
            raise InvalidRequest(requests.TOO_LARGE)
        self.unfinished = 0
        version = self.parser.get_http_version()
        upgrade = self.parser.should_upgrade()
        self.url = requests.read_target(self.url, version, self.hosts, self.headers)
        if self.codings:
            requests.check_codings(self.codings, version)
        if upgrade:
            self.stand_in = requests.build_stand_in(self.headers, self.codings)
        self.stage = BODY
        self.may_come_whole = (
            match_plain_path(self.url) is not None
            and (self.cycle is None or self.cycle.response_complete)  # pipelined requests wait for their turn
            and not self.expect_100_continue
            and not upgrade
            and version == "1.1"
        )
        if not self.may_come_whole:
            self.begin_request()

    def serve_in_parts(self) -> None:
        """Serve the request as uvicorn does, because it is incomplete or too large."""
        self.may_come_whole = False
        self.begin_request()
        if self.body and not self.take(self.body):
            self.refuse(no_room())

    def begin_request(self) -> None:
        super().on_headers_complete()
        self.cycle.held = self.unread_body = 0
        extensions = {"let_go": partial(self.let_go, self.cycle), "is_awaited": partial(is_connected, self.transport)}
        self.scope["extensions"] = extensions  # type: ignore[typeddict-item]

    def on_body(self, body: bytes) -> None:
        self.unfinished = 0
        if self.may_come_whole:
            self.body += body
            if len(self.body) > requests.MAX_WHOLE_BYTES:
                self.serve_in_parts()
        elif self.cycle.response_complete:
            self.unread_body += len(body)
            if self.unread_body > requests.MAX_UNREAD_BYTES:
                self.transport.abort()
        elif not self.take(body):
            raise no_room()

    def take(self, body: bytes) -> bool:
        """Store a part of the body until it is read. Returns False if there is no memory for it."""
        self.cycle.held += len(body)
        super().on_body(body)
        return self.registry.body_memory.hold(len(body), self.counted_for)

    def on_message_complete(self) -> None:
        if self.stand_in:  # the body follows
            return
        self.stage = BETWEEN
        if self.may_come_whole:
            self.may_come_whole = False
            self.cycle = self.running = WholeRequest(self, self.body)
            self.cycle.keep_alive = self.cycle.keep_alive and not self.is_last
            if self.url.startswith(requests.LIGHT_PATHS):
                self.registry.tasks.start(self.cycle.run_asgi(self.app))
            else:
                super()._start_asgi_task(self.cycle, self.app)
        else:
            super().on_message_complete()

    # --- What is served ----------------------------------------------------------------------------------------------

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: "ASGI3Application") -> None:
        self.running = cycle
        cycle.keep_alive = cycle.keep_alive and not self.is_last
        super()._start_asgi_task(cycle, partial(requests.serve, app, cast(Cycle, cycle), self.let_go))

    def let_go(self, cycle: Cycle, size: int | None = None) -> None:
        """Stop counting `size` bytes of the body as memory; None means all."""
        size = cycle.held if size is None else min(size, cycle.held)
        cycle.held -= size
        self.registry.body_memory.let_go(size, self.counted_for)

    def on_response_complete(self) -> None:
        """Continue with the next request, like uvicorn but without a timer per reply."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
        elif self.refusal is not None:
            self.send_refusal()
            return
        if not self.pipeline and self.unparsed:
            self.loop.call_soon(self.parse_later)
        elif not self.pipeline:
            self.flow.resume_reading()

    # --- What is refused ---------------------------------------------------------------------------------------------

    def refuse(self, error: ApiError) -> None:
        """Stop reading. Sends the error after all earlier replies, then closes the connection."""
        if self.transport.is_closing():
            return
        self.refusal = error
        self.may_come_whole = False
        self.keep_unparsed(b"")
        if self.stage == BODY and self.cycle is not None and self.cycle.scope is self.scope:
            self.give_up(self.cycle)
        if self.running is None or self.running.response_complete:
            self.send_refusal()

    def give_up(self, cycle: Cycle) -> None:
        """Abandon a request whose body cannot be read; the error becomes its reply."""
        if self.pipeline and self.pipeline[0][0] is cycle:
            self.pipeline.popleft()
            self.let_go(cycle)
            return
        cycle.disconnected = True
        cycle.message_event.set()
        if cycle.response_started:
            self.transport.close()
        else:
            self.send_refusal()

    def send_refusal(self) -> None:
        if self.refusal is not None and not self.transport.is_closing():
            self.transport.write(refusal(self.refusal, self.client))
            self.transport.close()
