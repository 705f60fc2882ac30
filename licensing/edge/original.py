"""Reads the visitor's request from the headers that a proxy or the site's own code sends.

Each endpoint path reads only the headers that its kind of proxy always sets, because proxies also pass on the
visitor's own headers.
"""

import re
from urllib.parse import quote, unquote

from msgspec import Struct
from msgspec.structs import replace

from kit.http.errors import InvalidRequest
from kit.http.headers import TrustedProxies, check_lengths, parse_address
from kit.values.hosts import host_of_header
from kit.values.networks import Address
from kit.values.paths import read_once
from licensing.access.event_loop.head import Head
from licensing.edge.cookies import VisitorCookie

FORWARD, ENVOY, INGRESS_NGINX = "/v1/access/forward", "/v1/access/envoy", "/v1/access/ingress-nginx"
MIDDLEWARE = "/v1/access/middleware"
EXACT_PATHS = FORWARD, INGRESS_NGINX, MIDDLEWARE
DENY_403, CACHED_BY_ADDRESS = b"deny=403", b"cached-by=address"
MAX_URI = 8 * 1024
MAX_FURTHER = 100  # further pages of a visit
MAX_REQUESTER = 255
# Case matters in HTTP: origins may answer `head` with the whole page. Many answer OPTIONS and unknown methods with it.
FREE_METHODS = frozenset({"HEAD"})
# Crawlers must be able to read the terms before anything is decided. Advertisers, search engines and browsers fetch
# other files about the site as a whole, which contain no articles.
FREE_PATHS = frozenset(
    {
        "/robots.txt",
        "/license.xml",
        "/security.txt",
        "/crawlers.json",
        "/ads.txt",
        "/app-ads.txt",
        "/favicon.ico",
        "/manifest.json",
    }
)
FREE_FOLDERS = ("/.well-known/", "/sitemaps/")
SINGLE_HEADERS = (
    *(b"x-forwarded-host", b"x-forwarded-uri", b"x-forwarded-method", b"x-licensing-key"),
    *(b"x-original-url", b"x-original-method"),
    *(b"x-licensing-url", b"x-licensing-also", b"x-licensing-method"),
    *(b"x-licensing-address", b"x-licensing-requester"),
)
PROXY_HEADERS = frozenset({b"host", b"x-forwarded-proto", *SINGLE_HEADERS})
ALLOWED_CHARACTERS = "/!$&'()*+,;=:@~?%\\"  # and letters, digits and `_.-`
is_escaped = re.compile(rf"[\w.{re.escape(ALLOWED_CHARACTERS)}-]*", re.ASCII).fullmatch
HOST_END = re.compile("[/?#]")
WHOLE_URL = re.compile(r"(https?)://([^/?#]*)(.*)", re.ASCII | re.IGNORECASE | re.DOTALL)


class UntrustedProxy(InvalidRequest):
    """The proxy that asks is not in TRUSTED_PROXIES."""


class Original(Struct, frozen=True):
    """The visitor's request.

    `address` is the visitor's IP address, or None if no trusted proxy sent it. `requester` is the requester id that
    the site's own code asserts. `cookie` is that of limits per visitor, once the account is known. `referrer` is the
    host of the page that led the visitor here, unless it is the same. `further` are the URLs of further pages whose
    text the page shows.
    """

    url: str
    method: str
    address: str | None
    requester: str | None = None
    cookie: VisitorCookie | None = None
    referrer: str | None = None
    further: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """The URL's scheme, host and port."""
        return self.url[: self.url.index("/", len("https://"))]

    @property
    def host(self) -> str:
        """The host in normal form, without the port."""
        return host_of_header(self.origin.partition("//")[2]) or ""

    @property
    def is_free(self) -> bool:
        """Whether the request is never charged."""
        return self.method in FREE_METHODS

    @property
    def is_public(self) -> bool:
        """Whether the page is open to everybody regardless of policies.

        False if an origin could read the path as another page, or if it shows the text of others.
        """
        path = read_once(self.url.removeprefix(self.origin).partition("?")[0])
        return not self.further and path is not None and is_free_path(path)

    @property
    def is_secure(self) -> bool:
        return self.url.startswith("https:")

    @property
    def license_url(self) -> str:
        return f"{self.origin}/license.xml"


def is_question(path: str) -> bool:
    """Return whether proxies ask at this path."""
    return path in EXACT_PATHS or path.startswith(f"{ENVOY}/")


def is_free_path(path: str) -> bool:
    """Return whether the normal path is one of the files that are open to everybody."""
    return path in FREE_PATHS or path.startswith(FREE_FOLDERS) or is_sitemap(path)


def is_sitemap(path: str) -> bool:
    """Return whether the path is one of `/sitemap*.xml`, `/wp-sitemap*.xml` and `/*-sitemap.xml`, without folders."""
    if not path.endswith(".xml") or "/" in path[1:]:
        return False
    return path.startswith(("/sitemap", "/wp-sitemap")) or path.endswith("-sitemap.xml")


def has_option(head: Head, option: bytes) -> bool:
    """Whether the proxy requested the option in its query.

    Ignored for Envoy, whose path includes the visitor's query.
    """
    return head.path in EXACT_PATHS and option in head.query.split(b"&")


def read_original(head: Head, proxies: TrustedProxies) -> Original:
    """Read the visitor's request. Raises InvalidRequest if no trusted source describes it."""
    check_lengths([name for name in head.too_long if name in PROXY_HEADERS], b"")
    if len(head.headers) < len(head.scope["headers"]):
        refuse_repeated([name for name, _ in head.scope["headers"]])
    original = described_by_middleware(head) if head.path == MIDDLEWARE else described_by_proxy(head, proxies)
    if b"referer" in head.headers:
        original = replace(original, referrer=referring_host(head.header(b"referer"), original.host))
    if len(original.url) > MAX_URI:
        raise InvalidRequest(f"The URL of the page is longer than {MAX_URI:,} characters.")
    return original


def refuse_repeated(sent: list[bytes]) -> None:
    """Raise InvalidRequest if a header that describes the page was sent more than once."""
    for name in SINGLE_HEADERS:
        if sent.count(name) > 1:
            raise InvalidRequest(f"{name.decode()} is sent twice.", param=name.decode())


def referring_host(referer: str, host: str) -> str | None:
    """Return the host of a Referer, the only part that is recorded; None if it is `host` itself."""
    match = WHOLE_URL.match(referer)
    referring = None if match is None else host_of_header(match[2])
    return None if referring == host else referring


def described_by_proxy(head: Head, proxies: TrustedProxies) -> Original:
    peer = head.scope["client"][0] if head.scope.get("client") else ""
    is_trusted = proxies.is_trusted_peer(peer)
    if head.path.startswith(f"{ENVOY}/"):
        proto = forwarded_proto(head) if is_trusted else "https"
        url = f"{proto}://{normal_host(head.host, 'Host')}{envoy_uri(head)}"
        method = head.scope["method"]
    elif head.path == INGRESS_NGINX:
        require_trust(is_trusted, "X-Original-URL")  # X-Forwarded-* may come from the visitor
        url = whole_url(head.header(b"x-original-url"), "X-Original-URL")
        method = head.header(b"x-original-method") or head.scope["method"]
    else:
        url, method = read_forwarded(head, is_trusted)
    is_address_known = is_trusted and b"x-forwarded-for" in head.headers
    return Original(url, method, render_address(head.address) if is_address_known else None)


def described_by_middleware(head: Head) -> Original:
    """Read the visitor's request from the X-Licensing-* headers of the site's own code.

    The API key is sufficient authority, because it may check anybody's access. Reverse proxies in front of the service
    pass these headers on unchanged, so TRUSTED_PROXIES does not apply.
    """
    address = head.header(b"x-licensing-address")
    visitor = parse_address(address) if address else None
    if address and visitor is None:
        raise InvalidRequest("Must be the visitor's IP address.", param="X-Licensing-Address")
    url = whole_url(decode_host(head.header(b"x-licensing-url")), "X-Licensing-Url")
    method = head.header(b"x-licensing-method") or "GET"
    original = Original(url, method, render_address(visitor), asserted_requester(head))
    return replace(original, further=further_pages(head, original.host))


def further_pages(head: Head, host: str) -> tuple[str, ...]:
    """Return the URLs of the further pages, which must be of this host. Raises InvalidRequest."""
    texts = head.header(b"x-licensing-also").split()
    if len(texts) > MAX_FURTHER:
        raise InvalidRequest(f"At most {MAX_FURTHER} further pages are possible.", param="X-Licensing-Also")
    urls = tuple(whole_url(decode_host(text), "X-Licensing-Also") for text in texts)
    for url in urls:
        if Original(url, "GET", None).host != host:
            raise InvalidRequest("Must be pages of the host in X-Licensing-Url.", param="X-Licensing-Also")
    return urls


def asserted_requester(head: Head) -> str | None:
    """Return the asserted requester id, decoded from percent-encoding. Raises InvalidRequest if it is invalid."""
    encoded = head.header(b"x-licensing-requester")
    try:
        requester = unquote(encoded, errors="strict")
    except UnicodeDecodeError:
        requester = ""
    if encoded and not (requester.strip() and "\0" not in requester and len(requester) <= MAX_REQUESTER):
        raise InvalidRequest(
            f"Must be a requester's id of up to {MAX_REQUESTER} characters, percent-encoded.",
            param="X-Licensing-Requester",
        )
    return requester or None


def render_address(address: Address | None) -> str | None:
    return None if address is None else str(address).partition("%")[0]


def read_forwarded(head: Head, is_trusted: bool) -> tuple[str, str]:
    """Return URL and method from X-Forwarded-*."""
    require_trust(is_trusted, "X-Forwarded-Uri")
    uri = head.header(b"x-forwarded-uri")
    if uri.startswith("?"):  # nginx passes the query of `GET http://pub.example?x=1` on
        uri = f"/{uri}"
    if not uri.startswith("/"):
        raise InvalidRequest("Must be the path and query of the page asked for.", param="X-Forwarded-Uri")
    host = normal_host(head.header(b"x-forwarded-host") or head.host, "X-Forwarded-Host")
    method = head.header(b"x-forwarded-method") or head.scope["method"]
    return f"{forwarded_proto(head)}://{host}{escape_uri(uri)}", method


def whole_url(text: str, header: str) -> str:
    """Return the URL with a normalised host. Raises InvalidRequest."""
    match = WHOLE_URL.match(text)
    if match is None:
        raise InvalidRequest("Must be the whole URL of the page asked for.", param=header)
    scheme, host, uri = match.groups()
    path = escape_uri(uri if uri.startswith("/") else f"/{uri}")
    return f"{scheme.lower()}://{normal_host(host, header)}{path}"


def decode_host(url: str) -> str:
    """Decode a percent-encoded host, as headers carry names in other scripts (RFC 3986, section 3.2.2).

    Only these: visitors choose their Host, and a decoded `/` would put another page before the one that they get.
    """
    match = WHOLE_URL.match(url)
    host = "" if match is None else unquote(match[2])
    return url if match is None or HOST_END.search(host) else f"{match[1]}://{host}{match[3]}"


def require_trust(is_trusted: bool, header: str) -> None:
    if not is_trusted:
        raise UntrustedProxy(
            f"{header} counts only from addresses in TRUSTED_PROXIES. Add that of your proxy.",
            param=header,
        )


def forwarded_proto(head: Head) -> str:
    proto = head.header(b"x-forwarded-proto").partition(",")[0].strip().lower()
    return "http" if proto in ("http", "ws") else "https"


def normal_host(value: str, header: str) -> str:
    """Return the host in lower case, with its port. Raises InvalidRequest if it is malformed."""
    host = host_of_header(value)
    if host is None:
        raise InvalidRequest("Must be the host that the page was asked for at.", param=header)
    _, colon, port = value.strip().rpartition(":")
    return f"{host}:{port}" if colon and port.isdecimal() and int(port) <= 65_535 else host


def envoy_uri(head: Head) -> str:
    raw = head.scope.get("raw_path") or quote(head.path).encode()
    query = f"?{head.query.decode('latin-1')}" if head.query else ""
    return escape_uri(raw.decode("latin-1").removeprefix(ENVOY) + query)


def escape_uri(uri: str) -> str:
    r"""Percent-encode characters that are not allowed in a path and query; `\` stays as it is.

    Encodes `#` too, because requests have no fragment and some origins read it as part of the path. Bytes above ASCII
    keep their values.
    """
    return uri if is_escaped(uri) else quote(uri.encode("latin-1", "replace"), safe=ALLOWED_CHARACTERS)


def peer_address(head: Head) -> Address | None:
    """Return the address of the proxy that sent the request."""
    return parse_address(head.scope["client"][0]) if head.scope.get("client") else None
