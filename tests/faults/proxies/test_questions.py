"""Proxies send the service exactly the headers it needs, whatever visitors send."""

from collections.abc import Iterator

import httpx
import pytest

from tests.faults.proxies.origin import Quiet, serving
from tests.faults.proxies.pages import exchange
from tests.faults.proxies.programs import HOST, Place, running
from tests.services import free_port

NEEDED = {
    "accept", "authorization", "user-agent", "referer", "signature", "signature-input", "signature-agent",
    "crawler-exact-price", "crawler-max-price", "x-licensing-key", "x-licensing-errors", "x-licensing-visitor",
    "x-forwarded-method", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-uri", "x-forwarded-for",
}  # fmt: skip
# Headers that proxies add themselves, and that visitors cannot control.
BESIDE = {"host", "connection", "content-length", "accept-encoding", "via", "date", "transfer-encoding"} | {
    "x-forwarded-port", "x-forwarded-server", "x-real-ip", "cf-worker", "cdn-loop",
    "x-envoy-internal", "x-envoy-expected-rq-timeout-ms", "x-request-id",
}  # fmt: skip
SENT = {
    "Host": HOST,
    "Accept": "text/html",
    "User-Agent": "ExampleBot/1.0",
    "Referer": "https://chatgpt.com/",
    "Authorization": "License abc",
    "Signature": "sig=:YQ==:",
    "Signature-Input": "sig=()",
    "Signature-Agent": '"https://signer.example"',
    "crawler-max-price": "USD 1",
}


class Listener(Quiet):
    """A stand-in for the service that stores request headers and allows every visitor."""

    questions: list[dict[str, str]]

    def serve(self) -> None:
        self.questions.append({name.lower(): value for name, value in self.headers.items()})
        self.answer(200, X_Access_Decision="allow")


@pytest.fixture(scope="module")
def listener() -> Iterator[int]:
    Listener.questions = []
    with serving(Listener) as port:
        yield port


@pytest.fixture(scope="module")
def proxy_port(proxy, listener, origin, tmp_path_factory) -> Iterator[int]:
    """The port of a proxy that uses the listener as its service."""
    at = Place("svc_sk_of_the_edge", listener, origin, free_port(), tmp_path_factory.mktemp(proxy.name))
    with running(proxy, at):
        yield at.port


@pytest.fixture
def asking(proxy_port: int) -> int:
    """The port of the proxy, which has asked nothing yet."""
    Listener.questions.clear()
    return proxy_port


def test_the_service_gets_the_headers_it_needs_and_no_others(asking, proxy):
    further = {"Cookie": "session=1; licensing_visitor=abc"}
    further |= {"X-Own": "1", "X-Original-URL": "/about"}
    httpx.get(f"http://127.0.0.1:{asking}/open/a?b=c", headers=SENT | further)
    [question] = Listener.questions
    asked = {name: value for name, value in question.items() if name not in BESIDE}
    if proxy.name in ("traefik", "envoy"):  # it cannot select one cookie
        assert asked.pop("cookie") == "session=1; licensing_visitor=abc"
    else:
        assert asked["x-licensing-visitor"] == "abc"
    assert asked.keys() - NEEDED == set()
    for name, value in SENT.items():
        assert name == "Host" or (name, asked[name.lower()]) == (name, value)
    assert (asked["x-licensing-key"], question.get("x-forwarded-uri", "/open/a?b=c")) == (
        "svc_sk_of_the_edge",
        "/open/a?b=c",
    )


def test_neither_many_headers_nor_odd_ones_keep_a_reader_out(asking):
    many = "".join(f"X-Own-{number}: {number}\r\n" for number in range(150))
    for odd in (many.encode(), b"X-A: a\x01b\r\n", b"Cookie: " + b"a" * 6_000 + b"\r\n"):
        reply = exchange(asking, b"GET /open/a HTTP/1.1\r\nHost: pub.example\r\nConnection: close\r\n" + odd + b"\r\n")
        # A proxy may itself refuse them.
        assert b'"page": "of the origin"' in reply or reply.startswith((b"http/1.1 400", b"http/1.1 431"))


def test_a_value_with_control_characters_is_not_passed_on(asking):
    """The service would refuse the question as invalid HTTP."""
    for name in ("accept", "user-agent", "referer"):
        Listener.questions.clear()
        line = f"{name}: a\x01b\r\n"
        reply = exchange(asking, f"GET /open/a HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n{line}\r\n".encode())
        if not Listener.questions:  # the proxy refuses it itself
            assert reply.startswith(b"http/1.1 400"), name
            continue
        [question] = Listener.questions
        assert question.get(name, "") == "", name
        assert b'"page": "of the origin"' in reply, name


def test_headers_of_the_question_that_no_visitor_sent_are_empty(asking):
    httpx.get(f"http://127.0.0.1:{asking}/open/a", headers={"Host": HOST, "User-Agent": "A", "Accept": ""})
    [question] = Listener.questions
    of_visitors = [name for name in NEEDED if "x-" not in name]
    assert {name: question[name] for name in of_visitors if question.get(name)} == {"user-agent": "A"}
