"""The visitor's request, as the proxy describes it. The path of the question says by which headers.

A proxy passes on a visitor's own headers beside its own, so each path reads those that its proxy always sets.
"""

import re
from urllib.parse import quote, urlsplit

from msgspec import Struct

from kit.http.errors import InvalidRequest
from kit.http.headers import check_lengths
from kit.http.middleware import Address, TrustedProxies, parse_address
from kit.values.hosts import host_of_header
from kit.values.paths import read_once
from licensing.access.event_loop.application import Head

FORWARD, ENVOY, INGRESS_NGINX = "/v1/access/forward", "/v1/access/envoy", "/v1/access/ingress-nginx"
MAX_URI = 8 * 1024
FREE_METHODS = frozenset({"HEAD", "OPTIONS"})
# What tells crawlers the terms has to be read before there can be any.
FREE_PATHS = frozenset({"/robots.txt", "/license.xml", "/sitemap.xml", "/security.txt", "/crawlers.json"})
FREE_FOLDER = "/.well-known/"
REPEATED = (
    *(b"x-forwarded-host", b"x-forwarded-uri", b"x-forwarded-method", b"x-licensing-key"),
    *(b"x-original-url", b"x-original-method"),
)
FROM_PROXIES = frozenset({b"host", b"x-forwarded-proto", *REPEATED})
WHOLE_URL = re.compile(r"(https?)://([^/?#]*)(.*)", re.ASCII | re.IGNORECASE | re.DOTALL)


class Original(Struct, frozen=True):
    """`address` is the visitor's, None where no trusted proxy told it."""

    url: str
    method: str
    address: str | None

    @property
    def host(self) -> str:
        """In its normal form, without the port."""
        return host_of_header(urlsplit(self.url).netloc) or ""

    @property
    def is_free(self) -> bool:
        """Whether it is never charged."""
        return self.method in FREE_METHODS

    @property
    def is_public(self) -> bool:
        """Whether everybody gets it, whatever policies say: no origin reads the path as another one."""
        path = read_once(urlsplit(self.url).path)
        return path is not None and (path in FREE_PATHS or path.startswith(FREE_FOLDER))

    @property
    def license_url(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}/license.xml"


def original_of(head: Head, proxies: TrustedProxies) -> Original:
    """Raises InvalidRequest where nobody who is trusted says which page it is about."""
    peer = head.scope["client"][0] if head.scope.get("client") else ""
    is_trusted = proxies.include(peer)
    check_lengths([name for name in head.too_long if name in FROM_PROXIES], b"")
    for name in REPEATED:
        if sum(header == name for header, _ in head.scope["headers"]) > 1:
            raise InvalidRequest(f"{name.decode()} is sent twice.", param=name.decode())
    if head.path.startswith(f"{ENVOY}/"):
        proto = forwarded_proto(head) if is_trusted else "https"
        url = f"{proto}://{host_in(head.host, 'Host')}{envoy_uri(head)}"
        method = head.scope["method"]
    elif head.path == INGRESS_NGINX:
        url, method = described_by_ingress_nginx(head, is_trusted)
    else:
        url, method = forwarded(head, is_trusted)
    if len(url) > MAX_URI:
        raise InvalidRequest(f"The URL is longer than {MAX_URI:,} characters.", param="X-Forwarded-Uri")
    hops = head.headers.get(b"x-forwarded-for")
    visitor = proxies.client_of(peer, hops.decode("latin-1")) if is_trusted and hops is not None else None
    return Original(url, method, None if visitor is None else str(visitor).partition("%")[0])


def forwarded(head: Head, is_trusted: bool) -> tuple[str, str]:
    """URL and method as X-Forwarded-* say."""
    require_trust(is_trusted, "X-Forwarded-Uri")
    uri = head.header(b"x-forwarded-uri")
    if not uri.startswith("/"):
        raise InvalidRequest("Must be the path and query of the page asked for.", param="X-Forwarded-Uri")
    host = host_in(head.header(b"x-forwarded-host") or head.host, "X-Forwarded-Host")
    method = (head.header(b"x-forwarded-method") or head.scope["method"]).upper()
    return f"{forwarded_proto(head)}://{host}{spelled(uri)}", method


def described_by_ingress_nginx(head: Head, is_trusted: bool) -> tuple[str, str]:
    """URL and method as X-Original-URL and X-Original-Method say; X-Forwarded-* there may be a visitor's own."""
    require_trust(is_trusted, "X-Original-URL")
    whole = WHOLE_URL.match(head.header(b"x-original-url"))
    if whole is None:
        raise InvalidRequest("Must be the whole URL of the page asked for.", param="X-Original-URL")
    scheme, host, uri = whole.groups()
    path = spelled(uri if uri.startswith("/") else f"/{uri}")
    method = (head.header(b"x-original-method") or head.scope["method"]).upper()
    return f"{scheme.lower()}://{host_in(host, 'X-Original-URL')}{path}", method


def require_trust(is_trusted: bool, header: str) -> None:
    if not is_trusted:
        raise InvalidRequest(
            "This header counts only from proxies in TRUSTED_PROXIES, and this address is none.", param=header
        )


def forwarded_proto(head: Head) -> str:
    proto = head.header(b"x-forwarded-proto").partition(",")[0].strip().lower()
    return "http" if proto in ("http", "ws") else "https"


def host_in(value: str, header: str) -> str:
    """The host with its port, in lower case."""
    host = host_of_header(value)
    if host is None:
        raise InvalidRequest("Must be the host that the page was asked for at.", param=header)
    _, colon, port = value.strip().rpartition(":")
    return f"{host}:{port}" if colon and port.isdecimal() and int(port) <= 65_535 else host


def envoy_uri(head: Head) -> str:
    raw = head.scope.get("raw_path") or quote(head.path).encode()
    query = f"?{head.query.decode('latin-1')}" if head.query else ""
    return spelled(raw.decode("latin-1").removeprefix(ENVOY) + query)


def spelled(uri: str) -> str:
    """Escape what has no place in a path and query, bytes above ASCII as they came. No request has a fragment: some
    origins read `#` as part of the path. Some read `\\` as `/`, and `%5C` otherwise."""
    return quote(uri.encode("latin-1", "replace"), safe="/!$&'()*+,;=:@~?%\\")


def peer_of(head: Head) -> Address | None:
    """The address that the request itself came from: the proxy's, whose key it is."""
    return parse_address(head.scope["client"][0]) if head.scope.get("client") else None
