"""The head of a request for checks, and that of its reply."""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from urllib.parse import parse_qs

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from accounts.keys.authentication import Grant
from accounts.limits.windows import LimitState, Window, render_policy, window_label
from kit.http.bodies import Scope
from kit.http.headers import LIMITS, MAX_PARAMETERS, Limit, TrustedProxies, request_id
from kit.rest.deprecation_headers import deprecation_headers

COMMON_HEADERS = (
    "content-type: application/json\r\n"
    "cache-control: no-store\r\n"
    "x-content-type-options: nosniff\r\n"
    f"referrer-policy: {settings.SECURE_REFERRER_POLICY}\r\n"
    f"x-frame-options: {settings.X_FRAME_OPTIONS}\r\n"
    "cross-origin-opener-policy: same-origin\r\n"
    "vary: origin\r\n"
).encode()
# Of answers that proxies pass on to visitors under the publisher's host: none of the headers for a whole host.
VISITOR_HEADERS = (
    "content-type: application/json\r\n"
    "cache-control: no-store\r\n"
    "x-content-type-options: nosniff\r\n"
    f"x-frame-options: {settings.X_FRAME_OPTIONS}\r\n"
    "vary: origin\r\n"
).encode()
OTHER_ORIGIN_HEADERS = (
    f"access-control-allow-origin: *\r\naccess-control-expose-headers: {', '.join(settings.CORS_EXPOSE_HEADERS)}\r\n"
).encode()
HSTS = b"strict-transport-security: max-age=%d\r\n" % settings.SECURE_HSTS_SECONDS
MAX_HOST = LIMITS[b"host"].most  # bytes: a name of 253, and a port
LEAST = min(limit.most for limit in LIMITS.values())
UNREAD = Limit(64 * 1024, "nothing")


def read_headers(lines: Collection[tuple[bytes, bytes]]) -> tuple[dict[bytes, bytes], list[bytes]]:
    """Return the headers by lower-case name, and the names of oversized ones, whose values read as empty.

    Repeated headers are joined with commas.
    """
    headers = dict(lines)
    if len(headers) == len(lines):
        values = headers.values()
        if len(b"".join(values)) <= LEAST or max(map(len, values)) <= LEAST:  # nearly always, and the first is faster
            return headers, []
    return join_headers(lines)


def join_headers(lines: Iterable[tuple[bytes, bytes]]) -> tuple[dict[bytes, bytes], list[bytes]]:
    headers: dict[bytes, bytes] = {}
    too_long: list[bytes] = []
    values: dict[bytes, list[bytes]] = {}
    for name, value in lines:
        values.setdefault(name, []).append(value)
    for name, several in values.items():
        headers[name] = b",".join(several)
        if len(headers[name]) > LIMITS.get(name, UNREAD).most:
            headers[name] = b""
            too_long.append(name)
    return headers, too_long


class Head:
    """A request's head: headers by lower-case name, client address, and whether it came by https.

    Only the headers in LIMITS are kept; those in `too_long` read as empty. `body` is None until it is read.
    """

    def __init__(self, scope: Scope, proxies: TrustedProxies) -> None:
        self.scope = scope
        self.path: str = scope["path"]
        self.query: bytes = scope["query_string"]
        # Set if it arrived with the head (config.server).
        self.body: bytes | None = scope.get("extensions", {}).get("body")
        self.headers, self.too_long = read_headers(scope["headers"])
        self.host = self.header(b"host")
        if b"host" not in self.headers and scope.get("server"):  # HTTP/1.0 needs none
            self.host = str(scope["server"][0])
        peer = scope["client"][0] if scope.get("client") else ""
        forwarded_for = self.headers.get(b"x-forwarded-for")
        self.address = proxies.client_of(peer, None if forwarded_for is None else forwarded_for.decode("latin-1"))
        # Uses the first of several values, like Django; only trusted proxies may set it.
        protocol = self.headers.get(b"x-forwarded-proto")
        if protocol is not None and proxies.is_trusted_peer(peer):
            self.is_secure = protocol.partition(b",")[0].strip() == b"https"
        else:
            self.is_secure = scope.get("scheme") == "https"

    @property
    def base_url(self) -> str:
        return f"{'https' if self.is_secure else 'http'}://{self.host}"

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")


@lru_cache(maxsize=1_000)
def limit_names(windows: tuple[Window, ...], seconds: int, part: str) -> tuple[bytes, bytes]:
    """Return the line of the limit's policy, and the name of the window in use."""
    return f"ratelimit-policy: {render_policy(windows)}\r\n".encode(), window_label(seconds, part).encode()


def header_lines(
    state: LimitState, headers: Mapping[str, str], length: int, *, is_secure: bool, common: bytes = COMMON_HEADERS
) -> bytes:
    """Return the header lines of a reply: common ones and `headers`. `length` is the body's, in bytes."""
    policy, window = limit_names(state.windows, state.seconds, state.part)
    lines = (
        b"%bx-ratelimit-limit: %d\r\nx-ratelimit-remaining: %d\r\nx-ratelimit-reset: %d\r\n"
        b"%bratelimit: %b;r=%d;t=%d\r\nx-request-id: %b\r\ncontent-length: %d\r\n"
    ) % (
        *(common, state.limit, state.remaining, state.reset),
        *(policy, window, state.remaining, state.seconds_left),
        *(request_id.get().encode("ascii"), length),
    )
    if is_secure:
        lines += HSTS
    if headers:
        lines += "".join([f"{name.lower()}: {value}\r\n" for name, value in headers.items()]).encode("latin-1")
    return lines


def list_deprecations(path: str, query: bytes, body: bytes, grant: Grant | None) -> dict[str, str]:
    """Return the deprecation headers of a reply, if the request used anything deprecated."""
    text = query.decode("latin-1") if query.count(b"&") < MAX_PARAMETERS else ""
    account_id = None if grant is None else grant.account_id
    return deprecation_headers("POST", path, parse_qs(text, keep_blank_values=True), body, account_id)


def is_served(host: str) -> bool:
    """Return whether ALLOWED_HOSTS includes the host."""
    return len(host) <= MAX_HOST and is_allowed(host)  # longer hosts are invalid; do not cache them


@lru_cache(maxsize=1000)
def is_allowed(host: str) -> bool:
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)
