"""Requests whose host is missing, ambiguous, foreign or spelled in another way, as bytes on a socket.

Whatever a proxy makes of such a request, the origin serves no closed page. A visitor who spells the host of the site
in another way reads the open pages.
"""

from tests.faults.proxies.pages import FROM_THE_ORIGIN, exchange

UNUSUAL = {
    "HTTP/0.9": b"GET %(path)s\r\n",
    "HTTP/1.0 without Host": b"GET %(path)s HTTP/1.0\r\n\r\n",
    "HTTP/1.1 without Host": b"GET %(path)s HTTP/1.1\r\nConnection: close\r\n\r\n",
    "an empty Host": b"GET %(path)s HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n",
    "a foreign Host": b"GET %(path)s HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n",
    "an absolute form and a foreign Host": (
        b"GET http://pub.example%(path)s HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n"
    ),
    "a foreign absolute form": (
        b"GET http://other.example%(path)s HTTP/1.1\r\nHost: pub.example\r\nConnection: close\r\n\r\n"
    ),
    "an absolute form in HTTP/1.0": b"GET http://pub.example%(path)s HTTP/1.0\r\n\r\n",
    "two Hosts": b"GET %(path)s HTTP/1.1\r\nHost: pub.example\r\nHost: other.example\r\nConnection: close\r\n\r\n",
    "two Hosts, the foreign one first": (
        b"GET %(path)s HTTP/1.1\r\nHost: other.example\r\nHost: pub.example\r\nConnection: close\r\n\r\n"
    ),
    "a space before the colon": b"GET %(path)s HTTP/1.1\r\nHost : pub.example\r\nConnection: close\r\n\r\n",
    "a folded Host": b"GET %(path)s HTTP/1.1\r\nHost:\r\n pub.example\r\nConnection: close\r\n\r\n",
    "two hosts in one line": b"GET %(path)s HTTP/1.1\r\nHost: other.example, pub.example\r\nConnection: close\r\n\r\n",
    "a user in the Host": b"GET %(path)s HTTP/1.1\r\nHost: other.example@pub.example\r\nConnection: close\r\n\r\n",
    "a null byte in the Host": b"GET %(path)s HTTP/1.1\r\nHost: pub.example\x00.other\r\nConnection: close\r\n\r\n",
    "an absolute form with a user": (
        b"GET http://other.example@pub.example%(path)s HTTP/1.1\r\nHost: pub.example\r\nConnection: close\r\n\r\n"
    ),
    "line feeds alone": b"GET %(path)s HTTP/1.1\nHost: pub.example\nConnection: close\n\n",
    "an unknown version": b"GET %(path)s HTTP/9.9\r\nHost: pub.example\r\nConnection: close\r\n\r\n",
    "HTTP/2 in words": b"GET %(path)s HTTP/2.0\r\nHost: pub.example\r\nConnection: close\r\n\r\n",
    "a method in lower case": b"get %(path)s HTTP/1.1\r\nHost: pub.example\r\nConnection: close\r\n\r\n",
    "a fragment": b"GET %(path)s#x HTTP/1.1\r\nHost: pub.example\r\nConnection: close\r\n\r\n",
    "a body": (
        b"GET %(path)s HTTP/1.1\r\nHost: pub.example\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n"
        b"Connection: close\r\n\r\n0\r\n\r\n"
    ),
}
SPELLINGS = {
    "as registered": b"pub.example",
    "with a port": b"pub.example:8443",
    "with a trailing dot": b"pub.example.",
    "in upper case": b"PUB.Example",
    "with a dot and a port": b"pub.example.:80",
}


def test_no_request_with_an_unusual_host_opens_a_closed_page(visit, port):
    replies = {name: exchange(port, request % {b"path": b"/licensed/a"}) for name, request in UNUSUAL.items()}
    assert [name for name, reply in replies.items() if FROM_THE_ORIGIN in reply] == []


def test_the_second_request_of_a_connection_is_decided_by_itself(visit, port):
    pages = (b"/open/a", b"pub.example"), (b"/licensed/a", b"pub.example"), (b"/open/a", b"other.example")
    requests = [b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % page for page in pages]
    requests[-1] = requests[-1].replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    assert exchange(port, b"".join(requests)).count(FROM_THE_ORIGIN) == 1


def test_no_spelling_of_the_host_opens_a_closed_page_and_most_open_an_open_one(visit, port):
    def is_served(name: str, path: bytes) -> bool:
        request = b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (path, SPELLINGS[name])
        return FROM_THE_ORIGIN in exchange(port, request)

    assert [name for name in SPELLINGS if is_served(name, b"/licensed/a")] == []
    assert all(is_served(name, b"/open/a") for name in ("as registered", "with a port", "in upper case"))
