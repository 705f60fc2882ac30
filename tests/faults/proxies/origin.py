"""An origin server behind the proxies."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Quiet(BaseHTTPRequestHandler):
    """A handler whose `serve` answers all requests. It logs nothing; the tests report failures."""

    def do_GET(self) -> None:
        self.serve()

    do_HEAD = do_POST = do_GET

    def serve(self) -> None:
        raise NotImplementedError

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Keep quiet."""


class Origin(Quiet):
    """An origin server whose pages show the request headers. Pages named `missing` are 404s."""

    def serve(self) -> None:
        sent = {name.lower(): value for name, value in self.headers.items()}
        body = json.dumps({"page": "of the origin", **sent}).encode()
        self.answer(404 if self.path.endswith("/missing") else 200, body, Set_Cookie="own=1; Path=/")


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler] = Origin) -> Iterator[int]:
    """Run a server with this handler, by default an origin, and yield its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()
