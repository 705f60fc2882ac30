"""The world's HTTP client: one keep-alive connection from an address of its own."""

import http.client
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from tests.world.clock import WorldClock

RETRY_SECONDS = 60
LOST = 0


@dataclass
class Reply:
    """A reply and the world's time before and after. Status 0: the connection ended without a reply."""

    begun: float
    ended: float
    status: int = LOST
    headers: Mapping[str, str] = field(default_factory=dict)  # by names in lower case
    content: bytes = b""

    @property
    def body(self) -> Any:
        return json.loads(self.content, parse_float=Decimal)  # amounts are exact

    @property
    def is_lost(self) -> bool:
        """Whether the request's outcome is unknown (a 5xx from a proxy)."""
        return self.status == LOST or self.status >= 500


class OldConnection(http.client.HTTPConnection):
    """A connection of HTTP/1.0, which the server closes after its reply."""

    _http_vsn, _http_vsn_str = 10, "HTTP/1.0"


class Caller:
    def __init__(
        self, clock: WorldClock, port: int, address: str = "127.0.0.1", headers: Mapping[str, str] | None = None
    ) -> None:
        """Connect from `address`; all of 127.0.0.0/8 is this machine."""
        self.clock, self.port, self.address = clock, port, address
        self.headers = dict(headers or {})
        self.connection: http.client.HTTPConnection | None = None

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        connection_type: type[http.client.HTTPConnection] = http.client.HTTPConnection,
    ) -> Reply:
        sent = {**self.headers, **(headers or {})}
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if content is not None:
            sent.setdefault("Content-Type", "application/json")
        begun = self.clock.timestamp()
        try:
            if self.connection is None:
                source = (self.address, 0)
                self.connection = connection_type("127.0.0.1", self.port, 60, source_address=source)
            # Without http.client's own Host and Accept-Encoding: only `headers` are sent.
            self.connection.putrequest(method, path, skip_host="Host" in sent, skip_accept_encoding=True)
            for name, value in sent.items():
                self.connection.putheader(name, value)
            if content is not None:
                self.connection.putheader("Content-Length", str(len(content)))
            self.connection.endheaders(content)
            reply = self.connection.getresponse()
            read = reply.read()
        except (OSError, http.client.HTTPException):
            self.close()
            return Reply(begun, self.clock.timestamp())
        if reply.will_close:
            self.close()
        found = {name.lower(): value for name, value in reply.getheaders()}
        return Reply(begun, self.clock.timestamp(), reply.status, found, read)

    def send_until_answered(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Repeat a safely repeatable request (GET, PATCH, POST with an Idempotency-Key) until it is answered.

        The reply's time begins with the first attempt, because any attempt may have been carried out.
        """
        deadline = time.monotonic() + RETRY_SECONDS
        first = reply = self.send(method, path, body, headers)
        while reply.is_lost:
            assert time.monotonic() < deadline, f"{method} {path} was not answered in {RETRY_SECONDS} s: {reply}"
            time.sleep(0.1)
            reply = self.send(method, path, body, headers)
        reply.begun = first.begun
        return reply

    def get(self, path: str, **query: Any) -> Any:
        """Return the JSON of a GET that must succeed."""
        reply = self.send_until_answered("GET", f"{path}?{urlencode(query)}" if query else path)
        assert reply.status == 200, (path, query, reply.status, reply.content[:2000])
        return reply.body

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None
