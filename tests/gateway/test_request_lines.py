import re

import orjson
import pytest

from kit.http.headers import LIMITS, MAX_TARGET
from licensing.access.event_loop.application import respond
from tests.gateway.wire import Echo, chunked, exchanged, statuses

HOST = "Host: localhost"
LINE = "GET {} HTTP/1.1"
REFUSED = {
    "HTTP/1.1 without Host": [LINE],
    "HTTP/2.0": ["GET {} HTTP/2.0", HOST],
    "HTTP/0.9": ["GET {}", HOST],
    "HTTP/1.2": ["GET {} HTTP/1.2", HOST],
    "the preface of HTTP/2": ["PRI * HTTP/2.0", "", "SM"],
    "a URL of another host": ["GET http://evil.example{} HTTP/1.1", HOST],
    "a URL of another port": ["GET http://localhost:81{} HTTP/1.1", HOST],
    "a URL with a user": ["GET http://localhost@evil.example{} HTTP/1.1", HOST],
    "a URL without a host": ["GET http://{} HTTP/1.1", HOST],
    "a URL of another scheme": ["GET ftp://localhost{} HTTP/1.1", HOST],
    "a URL without Host": ["GET http://localhost{} HTTP/1.1"],
    "a fragment": ["GET {}#b HTTP/1.1", HOST],
    "an authority": ["CONNECT localhost:443 HTTP/1.1", HOST],
    "an asterisk": ["OPTIONS * HTTP/1.1", HOST],
    "a relative path": ["GET a HTTP/1.1", HOST],
    "bytes above ASCII": ["GET {}é HTTP/1.1", HOST],
    "a target too long": [f"GET /{'a' * MAX_TARGET} HTTP/1.1", HOST],
    "Host twice": [LINE, HOST, HOST],
    "Host twice in HTTP/1.0": ["GET {} HTTP/1.0", HOST, HOST],
    "two hosts": [LINE, HOST, "Host: evil.example"],
    "an empty Host": [LINE, "Host:"],
    "a Host of spaces": [LINE, "Host:   "],
    "a space in Host": [LINE, "Host: local host"],
    "a tab in Host": [LINE, "Host: local\thost"],
    "a comma in Host": [LINE, "Host: localhost,evil.example"],
    "a path in Host": [LINE, "Host: localhost/a"],
    "a user in Host": [LINE, "Host: evil@localhost"],
    "no number as the port": [LINE, "Host: localhost:http"],
    "bytes above ASCII in Host": [LINE, "Host: löcalhost"],
    "a Host too long": [LINE, f"Host: {'a' * (LIMITS[b'host'].most + 1)}"],
    "a folded line": [LINE, HOST, "X-A: a", " b"],
    "a folded Host": [LINE, HOST, " evil.example"],
    "a folded line before Host": [LINE, " X-A: a", HOST],
    "a space before the colon": [LINE, "Host : localhost"],
    "a tab before the colon": [LINE, HOST, "X-A\t: a"],
    "a header without a name": [LINE, HOST, ": a"],
    "a header without a colon": [LINE, HOST, "X-A"],
    "a bracket in a name": [LINE, HOST, "X(A): a"],
    "a bare line feed": [LINE, HOST + "\nX-A: a"],
    "a bare carriage return": [LINE, HOST + "\rX-A: a"],
    "NUL": [LINE, HOST, "X-A: a\0b"],
    "a control character": [LINE, HOST, "X-A: a\x01b"],
    "the same length twice": [LINE, HOST, "Content-Length: 0", "Content-Length: 0"],
    "a list of lengths": [LINE, HOST, "Content-Length: 0, 0"],
    "a negative length": [LINE, HOST, "Content-Length: -1"],
    "a length in hexadecimal": [LINE, HOST, "Content-Length: 0x0"],
    "two numbers as the length": [LINE, HOST, "Content-Length: 1 2"],
    "an empty length": [LINE, HOST, "Content-Length:"],
    "a length beyond 64 bits": [LINE, HOST, f"Content-Length: {2**64}"],
    "a space before the colon of Transfer-Encoding": [LINE, HOST, "Transfer-Encoding : chunked"],
    "Transfer-Encoding in a folded line": [LINE, HOST, "Transfer-Encoding:", " chunked"],
    "a vertical tab in Transfer-Encoding": [LINE, HOST, "Transfer-Encoding: \x0bchunked"],
    "xchunked": [LINE, HOST, "Transfer-Encoding: xchunked"],
}
REFUSED_CHUNKS = {
    "a space behind the size": "0 \r\n\r\n",
    "a sign before the size": "-0\r\n\r\n",
    "a prefix before the size": "0x0\r\n\r\n",
    "line feeds alone": "0\n\n",
    "a line feed in an extension": "0;a\nb\r\n\r\n",
    "data beyond the size": "1\r\nab\r\n0\r\n\r\n",
}
SERVED = {
    "HTTP/1.0 without Host": ["GET {} HTTP/1.0"],
    "HTTP/1.0 with Host": ["GET {} HTTP/1.0", HOST],
    "a URL of this host": ["GET http://localhost{} HTTP/1.1", HOST],
    "a URL of this host in capitals": ["GET HTTP://LOCALHOST{} HTTP/1.1", HOST],
    "an https URL of this host": ["GET https://localhost{} HTTP/1.1", HOST],
    "a URL in HTTP/1.0": ["GET http://localhost{} HTTP/1.0"],
    "a port": [LINE, "Host: localhost:8000"],
    "an IPv6 address": [LINE, "Host: [::1]:8000"],
    "white space around Host": [LINE, "Host: \t localhost \t "],
    "empty lines before the request": ["", "", LINE, HOST],
}
PATHS = ["/a", "/a?b=c"]  # the second is not a WholeRequest


def sent(lines: list[str], path: str) -> bytes:
    return "\r\n".join([*lines, "", ""]).replace("{}", path).encode()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("lines", REFUSED.values(), ids=REFUSED)
def test_a_request_is_refused_that_has(lines, path):
    application = Echo()
    received = exchanged(application, sent(lines, path))
    assert statuses(received) == [400]
    assert application.done == []
    body = orjson.loads(received.partition(b"\r\n\r\n")[2])
    assert body["error"]["code"] == "invalid_request"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("chunks", REFUSED_CHUNKS.values(), ids=REFUSED_CHUNKS)
def test_chunks_are_refused_that_have(chunks, path):
    application = Echo()
    head = sent(["POST {} HTTP/1.1", HOST, "Transfer-Encoding: chunked"], path)
    assert statuses(exchanged(application, head + chunks.encode())) == [400]
    assert application.done == []


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("lines", SERVED.values(), ids=SERVED)
def test_a_request_is_served_that_has(lines, path):
    application = Echo()
    assert statuses(exchanged(application, sent(lines, path)))[0] == 200
    assert application.done[0] == "/a"


def test_the_url_of_a_request_takes_the_place_of_host_in_http_1_0():
    hosts = []

    async def application(scope, receive, send):
        hosts.append(dict(scope["headers"]).get(b"host"))
        await respond(scope, send, 200, b"content-length: 0\r\n", b"")

    exchanged(application, sent(["GET http://Other.example:81{} HTTP/1.0"], "/a"), last=b"")
    assert hosts == [b"Other.example:81"]


def test_a_url_without_a_path_is_for_the_root():
    application = Echo()
    exchanged(application, sent(["GET http://localhost HTTP/1.1", HOST], ""))
    exchanged(application, sent(["GET http://localhost?b=c HTTP/1.1", HOST], ""))
    assert application.done == ["/", "/last", "/", "/last"]


HEAD = b"POST /v1/content HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
UNREADABLE = {
    "a size that is none": (CHUNKED + b"zz\r\n{}\r\n", "chunk size. A chunk is its size in hexadecimal, CRLF, "),
    "no CRLF behind a chunk": (CHUNKED + b"2\r\n{}0\r\n\r\n", "A chunk is its size in hexadecimal, CRLF, "),
    "both lengths": (HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", "Send one of the two."),
    "a length that is none": (HEAD + b"Content-Length: abc\r\n\r\n{}", "once: the length of the body in bytes."),
    "two lengths": (HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "the length of the body in bytes."),
    "an unknown coding": (chunked(coding=b"chunked, gzip"), "The only transfer coding served is chunked."),
    "an unknown method": (b"FOO / HTTP/1.1\r\n\r\n", "GET, POST, PATCH, DELETE, HEAD or OPTIONS, in capitals."),
    "a method in lower case": (b"post / HTTP/1.1\r\n\r\n", "Begin with GET, POST, "),
    "https": (b"\x16\x03\x01\x02\x00\x01\x00\x01", "The request is not HTTP but HTTPS. Use an address with http://"),
    "a space in the path": (b"GET /v1/a b HTTP/1.1\r\n\r\n", "Percent-encode spaces in the path, as in %20."),
    "a path outside of ASCII": ("GET /é HTTP/1.1\r\n\r\n".encode(), "encode spaces and characters outside ASCII"),
    "a header without colon": (b"GET / HTTP/1.1\r\nBad Header\r\n\r\n", "`Name: value` in a line of its own"),
    "a space before the colon": (b"GET / HTTP/1.1\r\nX-A : 1\r\n\r\n", "without a space before the colon."),
    "lines without CR": (b"GET / HTTP/1.1\nHost: a\n\n", "The request line ends with HTTP/1.1, then CRLF."),
}


# Of every error.
HEADERS = [
    rb"(?m)^x-request-id: req_[0-9a-f]{32}\r?$",
    rb"(?m)^x-ratelimit-limit: 60\r?$",
    rb"(?m)^x-ratelimit-remaining: \d+\r?$",
    rb"(?m)^x-ratelimit-reset: \d{10}\r?$",
]


def message_of(received: bytes) -> str:
    head, _, body = received.partition(b"\r\n\r\n")
    error = orjson.loads(body)["error"]
    assert (head.split()[1], error["code"]) == (b"400", "invalid_request")
    for header in HEADERS:
        assert re.search(header, head), (header, head)
    return error["message"]


@pytest.mark.parametrize(("sent", "hint"), UNREADABLE.values(), ids=UNREADABLE)
def test_refusals_of_malformed_requests_say_why_and_what_to_do(sent: bytes, hint: str):
    message = message_of(exchanged(Echo(), sent))
    assert hint in message
    assert message.endswith(".")


@pytest.mark.parametrize(
    "packets",
    [
        (HEAD + b"Content-Length: 200\r\n\r\n{}",),
        (HEAD + b"Content-Length: 200\r\n\r\n", b"{}"),
        (CHUNKED + b"5\r\n{}",),
        (HEAD + b"Content-",),
        (HEAD.replace(b"/v1", b"/%761") + b"Content-Length: 200\r\n\r\n{}",),
    ],
)
def test_a_request_that_ends_too_early_is_answered(packets):
    application = Echo()
    assert message_of(exchanged(application, *packets, last=b"", half_closes=True)) == (
        "The request ended before its head or body was complete. Compare Content-Length with the body."
    )
    assert application.done == []


def test_the_end_between_requests_is_not_an_error():
    whole = HEAD + b"Content-Length: 2\r\n\r\n{}"
    assert statuses(exchanged(Echo(), last=b"", half_closes=True)) == []
    assert statuses(exchanged(Echo(), whole)) == [200, 200]
