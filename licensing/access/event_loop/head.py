"""The head of a request for checks."""

from kit.http.bodies import Scope
from kit.http.headers import check_lengths, read_headers
from kit.http.middleware import TrustedProxies


class Head:
    """A request's head: headers by lower-case name, client address, and whether it came by https.

    Only the headers in kit.http.headers are kept; those in `too_long` read as empty. `body` is None until it is read.
    """

    def __init__(self, scope: Scope, proxies: TrustedProxies) -> None:
        self.scope = scope
        self.path: str = scope["path"]
        self.query: bytes = scope["query_string"]
        self.body: bytes | None = scope.get("extensions", {}).get(
            "body"
        )  # set if it arrived with the head (config.server)
        self.headers, self.too_long = read_headers(scope["headers"])
        peer = scope["client"][0] if scope.get("client") else ""
        forwarded_for = self.headers.get(b"x-forwarded-for")
        self.address = proxies.client_of(peer, None if forwarded_for is None else forwarded_for.decode("latin-1"))
        # Uses the first of several values, like Django; only trusted proxies may set it.
        protocol = self.headers.get(b"x-forwarded-proto")
        if protocol is not None and proxies.include(peer):
            self.is_secure = protocol.partition(b",")[0].strip() == b"https"
        else:
            self.is_secure = scope.get("scheme") == "https"

    @property
    def host(self) -> str:
        if b"host" not in self.headers and self.scope.get("server"):  # HTTP/1.0 needs none
            return str(self.scope["server"][0])
        return self.header(b"host")

    @property
    def base_url(self) -> str:
        return f"{'https' if self.is_secure else 'http'}://{self.host}"

    def check_lengths(self) -> None:
        """Raises InvalidRequest if a header or the query is too long."""
        check_lengths(self.too_long, self.query)

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")
