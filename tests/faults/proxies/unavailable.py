"""A service that is not available."""

from http.server import BaseHTTPRequestHandler


class Service(BaseHTTPRequestHandler):
    """A service that answers every question with `status`."""

    status = 503

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass
