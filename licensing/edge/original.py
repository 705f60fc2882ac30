"""The request that a visitor sent to a proxy, as the proxy tells of it."""

from urllib.parse import quote, urlsplit

from msgspec import Struct

from kit.http.errors import InvalidRequest
from kit.http.middleware import Address, TrustedProxies, parse_address
from kit.values.hosts import host_of_header
from licensing.access.event_loop.application import Head
from licensing.sites.patterns import normalize_path

FORWARD, ENVOY = "/v1/access/forward", "/v1/access/envoy"
MAX_URI = 8 * 1024
FREE_METHODS = frozenset({"HEAD", "OPTIONS"})
# What tells crawlers the terms has to be read before there can be any.
FREE_PATHS = frozenset({"/robots.txt", "/license.xml", "/sitemap.xml", "/security.txt", "/crawlers.json"})
FREE_FOLDER = "/.well-known/"
REPEATED = "x-forwarded-host", "x-forwarded-uri", "x-forwarded-method", "x-licensing-key"


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
        """Whether everybody gets it, whatever policies say."""
        path = normalize_path(urlsplit(self.url).path)
        return path in FREE_PATHS or path.startswith(FREE_FOLDER)

    @property
    def license_url(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}/license.xml"


def original_of(head: Head, proxies: TrustedProxies) -> Original:
    """Raises InvalidRequest where nobody who is trusted says which page it is about."""
    peer = head.scope["client"][0] if head.scope.get("client") else ""
    is_trusted = proxies.include(peer)
    for name in REPEATED:
        if sum(header == name.encode() for header, _ in head.scope["headers"]) > 1:
            raise InvalidRequest(f"{name} is sent twice.", param=name)
    if head.path.startswith(f"{ENVOY}/"):
        proto = forwarded_proto(head) if is_trusted else "https"
        url = f"{proto}://{host_in(head.host, 'Host')}{envoy_uri(head)}"
        method = head.scope["method"]
    else:
        url, method = forwarded(head, is_trusted)
    if len(url) > MAX_URI:
        raise InvalidRequest(f"The URL is longer than {MAX_URI:,} characters.", param="X-Forwarded-Uri")
    hops = head.headers.get(b"x-forwarded-for")
    visitor = proxies.client_of(peer, hops.decode("latin-1")) if is_trusted and hops is not None else None
    return Original(url, method, None if visitor is None else str(visitor).partition("%")[0])


def forwarded(head: Head, is_trusted: bool) -> tuple[str, str]:
    """URL and method as X-Forwarded-* say."""
    if not is_trusted:
        raise InvalidRequest(
            "X-Forwarded-* count only from proxies in TRUSTED_PROXIES, and this address is none.",
            param="X-Forwarded-Uri",
        )
    method = (head.header(b"x-forwarded-method") or head.scope["method"]).upper()
    uri = head.header(b"x-forwarded-uri")
    if not uri and (whole := head.header(b"x-original-url")):  # as ingress-nginx tells of it
        parts = urlsplit(whole)
        if parts.scheme in ("http", "https"):
            query = f"?{parts.query}" if parts.query else ""
            return f"{parts.scheme}://{host_in(parts.netloc, 'X-Original-URL')}{spelled(parts.path)}{query}", method
        uri = whole
    if not uri.startswith("/"):
        raise InvalidRequest("Must be the path and query of the page asked for.", param="X-Forwarded-Uri")
    host = host_in(head.header(b"x-forwarded-host") or head.host, "X-Forwarded-Host")
    return f"{forwarded_proto(head)}://{host}{spelled(uri)}", method


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
    """A path and query without a fragment; what has no place in a URL escaped, bytes above ASCII as they came."""
    return quote(uri.partition("#")[0].encode("latin-1", "replace"), safe="/!$&'()*+,;=:@~?%")


def peer_of(head: Head) -> Address | None:
    """The address that the request itself came from: the proxy's, whose key it is."""
    return parse_address(head.scope["client"][0]) if head.scope.get("client") else None
