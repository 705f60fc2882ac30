"""Middleware of both clients while the service answers, but slowly: readers of open pages do not wait for it."""

import asyncio
import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import httpx
import pytest
from content_access_licensing import paywall
from content_access_licensing.middleware import AsgiMiddleware, WsgiMiddleware

from tests.clients.sites import Visit, compiled, replied, run_in_wsgi
from tests.documentation.running import ran
from tests.openapi.node import needs_node

DECISIONS = {"/free": 200, "/sold": 402}


class Service:
    """A service whose answers take `took` seconds, by the clock of the test."""

    def __init__(self) -> None:
        self.now, self.took, self.asked = 1_000.0, 1.5, 0
        self.mode: dict[str, str] = {}
        self.wait: Callable[[], object] = self.pass_time

    def pass_time(self) -> None:
        self.now += self.took

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        self.wait()
        page = httpx.URL(request.headers["x-licensing-url"]).path
        status = 200 if self.mode else DECISIONS[page]
        decided = {"x-access-decision": "allow" if status == 200 else "deny", "x-access-requester": "anonymous"}
        return httpx.Response(status, headers=decided | self.mode)

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self.answer)


OPTIONS: Any = {"url": "http://a.example", "key": "svc_sk_x", "fail_open": lambda path: path == "/free"}


def wsgi(service: Service) -> Callable[[str], int]:
    def site(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("200 OK", [])
        return [b"Page"]

    answer = run_in_wsgi(WsgiMiddleware(site, http=httpx.Client(transport=service.transport), **OPTIONS))
    return lambda path: answer(Visit(path)).status


def asgi(service: Service) -> Callable[[str], int]:
    async def site(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"Page"})

    app = AsgiMiddleware(site, http=httpx.AsyncClient(transport=service.transport), **OPTIONS)
    return lambda path: asyncio.run(replied(app, Visit(path))).status


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    made = Service()
    monkeypatch.setattr(paywall, "monotonic", lambda: made.now)
    return made


@pytest.mark.parametrize("server", [wsgi, asgi])
def test_after_ten_slow_answers_open_pages_are_asked_about_once_in_ten_seconds_until_one_is_quick(server, service):
    visit = server(service)

    def is_asked(now: float, path: str = "/free", took: float = 1.5) -> bool:
        """Visit the page, so that the answer comes `now` if it is asked."""
        service.now, service.took, before = now - took, took, service.asked
        assert visit(path) == (200 if service.mode else DECISIONS[path])
        return service.asked > before

    assert all(is_asked(1_000 + 10 * answer) for answer in range(15))  # few visits do not use up the workers
    assert all(is_asked(2_000) for _ in range(9))
    assert is_asked(2_000, took=0.5)
    assert all(is_asked(2_000 + 2 * answer) for answer in range(10))  # ten in a row
    assert [is_asked(2_019), is_asked(2_020, "/sold"), is_asked(2_030)] == [False, True, False]
    assert [is_asked(2_032), is_asked(2_041), is_asked(2_060), is_asked(2_061)] == [True, False, True, False]
    assert [is_asked(2_062, "/sold", took=0.5), is_asked(2_062)] == [True, True]

    service.mode = {"x-access-mode": "observe"}
    assert all(is_asked(3_000) for _ in range(10))
    assert not is_asked(3_001, "/sold")  # it stays open in any case


def test_pages_that_do_not_stay_open_are_always_asked_about(service, caplog):
    visit = wsgi(service)
    with caplog.at_level(logging.WARNING, logger="content_access_licensing"):
        assert [visit("/sold") for _ in range(30)] == [402] * 30
    assert service.asked == 30
    assert caplog.text.count("takes over a second") == 1


def test_simultaneous_visits_note_slow_answers(service):
    """Threads may lose a note, but do not fail."""
    visit = wsgi(service)
    service.wait = Barrier(5, service.pass_time).wait
    with ThreadPoolExecutor(5) as pool:
        assert list(pool.map(visit, ["/sold"] * 20)) == [402] * 20
    before = service.asked
    assert list(map(visit, ["/free"] * 5)) == [200] * 5
    assert service.asked == before


VISITS = """
const { gate } = await import("file://" + process.argv[1] + "/middleware.js");
let now = 1_000_000, took = 1_500, asked = 0, mode = {};
Date.now = () => now;
const fetch = (question) => {
  asked += 1;
  now += took;
  const status = mode["x-access-mode"] || question.headers.get("x-licensing-url").endsWith("/free") ? 200 : 402;
  const decision = { "x-access-decision": status === 200 ? "allow" : "deny", "x-access-requester": "anonymous" };
  return new Response("{}", { status, headers: { ...decision, ...mode } });
};
const lines = [];
const failOpen = (path) => path === "/free";
const log = (line) => lines.push(line);
const decide = gate({ url: "http://a.example", key: "svc_sk_x", failOpen, address: () => null, fetch, log });
const isAsked = async (seconds, path = "/free", milliseconds = 1_500) => {
  took = milliseconds;
  now = seconds * 1_000 - took;
  const before = asked;
  const { refusal } = await decide(new Request("https://pub.example" + path));
  if ((refusal !== undefined) !== (path === "/sold" && !mode["x-access-mode"])) throw new Error(path);
  return asked > before;
};
const found = [];
const visit = async (...visits) => { for (const one of visits) found.push(await isAsked(...one)); };
const times = (count, from, step) => Array.from({ length: count }, (_, index) => [from + step * index]);
await visit(...times(15, 1_000, 10), ...times(9, 2_000, 0), [2_000, "/free", 500], ...times(10, 2_000, 2));
found.push("slow");
await visit([2_019], [2_020, "/sold"], [2_030], [2_032], [2_041], [2_060], [2_061]);
await visit([2_062, "/sold", 500], [2_062]);
found.push("observes");
mode = { "x-access-mode": "observe" };
await visit(...times(10, 3_000, 0), [3_001, "/sold"]);
console.log(JSON.stringify([found, lines]));
"""


@needs_node
def test_the_typescript_client_has_the_same_rule():
    found, lines = json.loads(ran("node", "--input-type=module", "-e", VISITS, compiled(), cwd=compiled()))
    assert found == [
        *[True] * 35, "slow", False, True, False, True, False, True, False, True, True,
        "observes", *[True] * 10, False,
    ]  # fmt: skip
    assert ["takes over a second" in line for line in lines] == [True] * len(lines)
    assert lines
