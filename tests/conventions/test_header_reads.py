import ast
import importlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest

from config import asgi
from config.wsgi import Request
from kit.http.headers import LIMITS
from licensing.access.event_loop.head import read_headers
from tests.gateway.wire import exchanged

OWN = ("accounts", "analytics", "config", "kit", "licensing", "operators")
SOURCES = [path for folder in OWN for path in sorted(Path(settings.BASE_DIR, folder).rglob("*.py"))]
# Read by Django and by the packages of INSTALLED_APPS and MIDDLEWARE.
BY_PACKAGES = {
    "Accept", "Accept-Encoding", "Content-Length", "Content-Type", "Cookie", "Host", "If-Modified-Since",
    "If-None-Match", "Origin", "Range", "Referer", "User-Agent", "X-CSRFToken", "X-Forwarded-Proto",
    "Access-Control-Request-Method", "Access-Control-Request-Private-Network",
}  # fmt: skip


def is_of_request(node: ast.AST) -> bool:
    """Whether an expression is a request's headers: `head.header`, `request.headers`, `self.request.META`."""
    return isinstance(node, ast.Attribute) and (
        node.attr == "header"
        or (node.attr in ("headers", "META") and any(one in ast.unparse(node.value) for one in ("request", "head")))
    )


def names_read(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=of, attr="get" | "pop"), args=[name, *_]) if is_of_request(of):
                yield name
            case ast.Call(func=of, args=[name]) if is_of_request(of):
                yield name
            case ast.Subscript(value=of, slice=name) if is_of_request(of):
                yield name
            case ast.Compare(left=name, ops=[ast.In() | ast.NotIn()], comparators=[of]) if is_of_request(of):
                yield name


def headers_read(path: Path) -> set[str]:
    """Return the lower-case names of the request headers that a file's code reads."""
    text = path.read_text()
    if "header" not in text and "META" not in text:
        return set()
    module = importlib.import_module(".".join(path.relative_to(settings.BASE_DIR).with_suffix("").parts))
    found = set()
    for expression in names_read(ast.parse(text)):
        try:
            value = eval(ast.unparse(expression), vars(module))  # noqa: S307 - of the project itself
        except NameError:  # a variable of a loop over names that are read elsewhere
            continue
        name = (value.decode() if isinstance(value, bytes) else value).lower().replace("_", "-")
        found.add(name.removeprefix("http-"))
    return found - OF_WSGI


OF_WSGI = {"remote-addr", "query-string", "server-port", "asgi.scope"}  # entries of META that are not headers


def test_every_header_that_the_code_reads_has_a_limit():
    read = {name for path in SOURCES for name in headers_read(path)}
    assert {"accept", "if-match", "x-forwarded-uri", "signature-input", "crawler-max-price", "idempotency-key"} <= read
    assert {name for name in read if name.encode() not in LIMITS} == set()
    assert {name for name in BY_PACKAGES if name.lower().encode() not in LIMITS} == set()


def test_no_other_header_reaches_django(monkeypatch):
    environs = []

    def application(environ, start_response):
        environs.append(environ)
        start_response("200 OK", [])
        return [b""]

    monkeypatch.setattr(asgi.ordinary, "wsgi", application)
    listed = b"".join(b"%b: 1\r\n" % name for name in LIMITS if name not in (b"host", b"transfer-encoding"))
    others = b"X-Other: 1\r\nX_Forwarded_For: 1\r\nProxy: 1\r\n"
    exchanged(asgi.application, b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n" + listed + others + b"\r\n1")
    [environ, _] = environs
    names = {name.removeprefix("HTTP_").replace("_", "-").lower() for name in environ if name.startswith("HTTP_")}
    of_wsgi = {"content-type", "content-length", "transfer-encoding"}
    assert names == {name.decode() for name in LIMITS} - of_wsgi
    assert environ["HTTP_X_FORWARDED_FOR"] == "1"


def request_with(cookies):
    return Request({"REQUEST_METHOD": "GET", "wsgi.input": BytesIO(), "HTTP_COOKIE": cookies})


def test_only_cookies_in_quotes_are_read_otherwise_than_by_django():
    """Python took 13 seconds to decode 30,000 backslashes (CVE-2024-7592)."""
    assert request_with('a="{}"; b=1'.format("\\" * 30_000)).COOKIES == {"b": "1"}
    for header in ("sessionid=abc; csrftoken=d", "a=b=c;d", "", "messages=W10:1x:y_-z", "é=1"):
        request = request_with(header.encode().decode("latin-1"))
        assert request.COOKIES == WSGIRequest(request.environ).COOKIES


def test_repeated_headers_are_joined_and_count_together():
    for size in [10, 300, 5000]:
        lines = [(b"accept", b"a" * size), (b"x-other", b"b"), (b"accept", b"c" * size), (b"x-other", b"d" * size)]
        headers, too_long = read_headers(lines)
        fits = 2 * size < LIMITS[b"accept"].most
        assert headers == {
            b"accept": b"a" * size + b"," + b"c" * size if fits else b"",
            b"x-other": b"b," + b"d" * size,
        }
        assert too_long == ([] if fits else [b"accept"]), size
