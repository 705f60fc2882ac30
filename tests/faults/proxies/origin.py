"""An origin server behind the proxies."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Origin(BaseHTTPRequestHandler):
    """An origin server whose pages show the request headers. Pages named `missing` are 404s."""

    def do_GET(self) -> None:
        sent = {name.lower(): value for name, value in self.headers.items()}
        body = json.dumps({"page": "of the origin", **sent}).encode()
        self.send_response(404 if self.path.endswith("/missing") else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Set-Cookie", "own=1; Path=/")
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_POST = do_GET

    def log_message(self, *args: object) -> None:
        """Keep quiet; the tests report failures."""


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler] = Origin) -> Iterator[int]:
    """Run a server with this handler, by default an origin, and yield its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()
