"""The middleware of both clients in front of a site (ASGI, WSGI, Django, TypeScript), against a running service."""

import asyncio
import itertools
import logging
import socket
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any, cast
from urllib.parse import quote

import httpx
import pytest
from content_access_licensing import Client, middleware, paywall
from content_access_licensing.middleware import AsgiMiddleware, DjangoMiddleware
from django.http import HttpResponse

from licensing.edge.proxies.paths import ASSET_FOLDERS, ASSET_TYPES
from tests.clients.generate import ROOT
from tests.clients.sites import CACHE, HOST, WAYS, Answer, Reply, Visit
from tests.openapi.node import needs_node
from tests.served import Service
from tests.services import free_port

SUBSCRIBERS: Any = [
    {"action": "allow", "priority": 1, "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]},
    {"action": "deny", "conditions": {"default": True}, "message": "Buy a licence."},
]
CAMPUS: Any = [{"action": "allow", "conditions": {"ip": ["192.0.2.0/24"]}, "permissions": ["read"]}]
LIMIT = {"requests": 1, "period": "day"}
ONCE: Any = [{"action": "allow", "conditions": {"default": True}, "permissions": ["read"], "rateLimit": LIMIT}]


@pytest.fixture
def policies(client: Client) -> dict[str, str]:
    """Policy ids of pub.example by name; org_globex has a licence for /premium/*, /campus/*, /once/* and /article."""
    made = {
        name: client.create_policy({"name": name, "rules": rules})["id"]
        for name, rules in (("premium", SUBSCRIBERS), ("campus", CAMPUS), ("once", ONCE))
    }
    client.create_content({"title": "Article", "source": "https://pub.example/article", "policyId": made["premium"]})
    rules: Any = [{"pattern": f"/{name}/*", "policyId": policy} for name, policy in made.items()]
    client.create_site({"host": HOST, "mode": "enforce", "rules": rules})
    client.create_license({"requesterId": "org_globex", "licenseType": "commercial"})
    return made


Site = Callable[..., Reply]


@pytest.fixture
def site(way: Callable[..., Answer], service: Service, policies: dict[str, str]) -> Site:
    """Visit the site behind the middleware, which calls the running service."""
    answer = way({"url": service.url, "key": service.key, "fail_open": False})
    return lambda target, **visit: answer(Visit(target, **visit))


def test_a_subscriber_reads_what_others_are_offered_until_the_licence_is_revoked(site: Site, client: Client):
    assert site("/premium/a", who="org_globex").is_page
    refused = site("/premium/a", who="org_acme")
    assert (refused.status, b"Buy a licence." in refused.body) == (402, True)
    assert refused.headers["www-authenticate"].startswith("License error=")
    assert refused.headers["x-access-id"].startswith("dec_")
    assert site("/premium/a").status == 402
    assert site("/about").is_page

    assert site("/premium/a", who="org_globex").is_page
    [licence] = client.list_licenses()
    client.revoke_license(licence["id"])
    assert site("/premium/a", who="org_globex").status == 402


def test_a_page_that_opens_by_a_licence_is_private_and_others_are_cached_as_the_site_says(site: Site):
    assert site("/premium/a", who="org_globex").headers["cache-control"] == "private"
    for visit in ({}, {"who": "org_globex"}):
        assert site("/about", **visit).headers["cache-control"] == CACHE


def test_assets_are_served_without_a_check_if_the_site_says_so(way: Callable[..., Answer]):
    options = {"url": f"http://127.0.0.1:{free_port()}", "key": "svc_sk_x", "fail_open": False}
    skipping = way({**options, "skip_assets": True})
    for target in ("/assets/app-1.css", "/static/img/logo.svg?v=2"):
        assert way(options)(Visit(target)).status == 503
        page = skipping(Visit(target, headers=FORGED))
        assert page.is_page
        assert not [name for name in page.seen if name.startswith(("x-access", "x-licensing"))]
    others = ("/premium/a.css", "/assets/report.pdf", "/assets/..;/premium/a.css", "/assets/%2e%2e/premium/a.css")
    for target in others:
        assert skipping(Visit(target)).status == 503


def test_people_get_a_page_and_programs_text_while_the_service_is_down(way: Callable[..., Answer]):
    answer = way({"url": f"http://127.0.0.1:{free_port()}", "key": "svc_sk_x", "fail_open": False})
    kinds = ("text/html,*/*;q=0.8", "text/html", b"<!doctype"), ("*/*", "text/plain", b"Access")
    for accept, kind, beginning in kinds:
        reply = answer(Visit("/premium/a", headers={"Accept": accept}))
        assert (reply.status, reply.headers["content-type"]) == (503, f"{kind}; charset=utf-8")
        assert reply.body.startswith(beginning)
        assert b"Please try again in a few seconds." in reply.body


def test_assets_are_those_of_the_files_for_proxies():
    for path in ("clients/python/src/content_access_licensing/paywall.py", "clients/typescript/src/middleware.ts"):
        text = (ROOT / path).read_text()
        assert f"({'|'.join(ASSET_FOLDERS)})" in text
        assert f"({ASSET_TYPES})" in text


@needs_node
def test_express_gets_no_target_that_it_reads_in_its_own_way(service: Service, policies: dict[str, str]):
    answer = WAYS["Express"]({"url": service.url, "key": service.key, "fail_open": True})
    for target in ("http://pub.example/premium/a", "/premium\\a#", "/premium/a#b", "http:\\\\x/premium/a"):
        assert answer(Visit(target)).status == 400


SPELLINGS = (
    "/article", "/article?utm_source=x", "//article", "/b/../article", "/%61rticle", "/article?",
    "/premium/a/", "//premium/a", "/premium/a?utm_source=x", "/open/%2e%2e/premium/a", "/premium%2Fa",
)  # fmt: skip


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_no_spelling_of_a_page_is_a_way_around_the_paywall(site: Site, scheme: str):
    for target in SPELLINGS:
        statuses = [site(target, scheme=scheme, who=who).status for who in (None, "org_globex")]
        assert (target, statuses) == (target, [402, 200])


@pytest.mark.parametrize("way", ["ASGI", "WSGI", "Flask", "Django"])
def test_a_method_that_only_looks_like_head_is_charged(way, service, client, policies, settings):
    settings.ALLOWED_HOSTS = ["*"]
    price: Any = {"amount": "0.05", "currency": "USD"}
    client.create_license({"requesterId": "org_metered", "licenseType": "commercial", "pricePerAccess": price})
    answer = WAYS[way]({"url": service.url, "key": service.key, "fail_open": False})
    for method, charged in (("HEAD", False), ("head", True)):
        answer(Visit("/premium/a", who="org_metered", method=method))
        assert (method, next(client.list_decisions())["charge"] is not None) == (method, charged)


def test_a_page_keeps_its_own_links_beside_that_to_the_terms():
    terms = "</license.xml>; rel=license"
    verdict = paywall.Verdict(None, [("link", terms), ("set-cookie", "a=1")])
    own = [(b"link", b"</a.css>; rel=preload"), (b"set-cookie", b"b=2")]
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(middleware.replying(send, verdict)({"type": "http.response.start", "headers": own}))
    assert sent[0]["headers"] == [*own, (b"link", terms.encode()), (b"set-cookie", b"a=1")]
    response = HttpResponse(headers={"Link": "</a.css>; rel=preload"})
    served = DjangoMiddleware.served(cast("Any", None), response, verdict)
    assert served.headers["Link"] == f"</a.css>; rel=preload, {terms}"


@pytest.mark.parametrize("way", ["WSGI", "Flask", "ASGI"])
def test_a_path_without_its_slash_is_no_part_of_the_host(way, service, client, policies):
    """Servers pass `GET premium/a` on, and Flask answers it with /premium/a."""
    client.update_own_account({"unknownHost": "allow"})
    options = {"url": service.url, "key": service.key, "fail_open": False, "host": HOST}
    answer = WAYS[way](options)
    assert answer(Visit("premium/a")).status == 402
    assert answer(Visit("premium/a", who="org_globex")).status == 200
    skipping = WAYS[way]({**options, "skip_assets": lambda path: not path.startswith("/premium/")})
    assert skipping(Visit("premium/a")).status == 402


def test_a_used_up_limit_is_asked_about_once_and_the_address_counts_for_each_visit(site: Site, client: Client):
    replies = [site("/once/a", who="org_acme") for _ in range(2)]
    assert [reply.status for reply in replies] == [200, 429]
    assert int(replies[1].headers["retry-after"]) > 0
    assert len(list(client.list_decisions())) == 2
    visits = [site("/campus/a", address=address) for address in ("192.0.2.7", "203.0.113.9", "192.0.2.8")]
    assert [visit.is_page for visit in visits] == [True, False, True]


@pytest.mark.parametrize("way", ["WSGI", "Django"])
def test_the_cookie_of_one_visitor_is_not_sent_for_the_next(way, service, client, policies, settings):
    settings.ALLOWED_HOSTS = ["*"]
    limit: Any = {"requests": 2, "period": "month", "per": "visitor"}
    client.update_policy(policies["once"], {"rules": [{**ONCE[0], "rateLimit": limit}]})
    answer = WAYS[way]({"url": service.url, "key": service.key, "fail_open": False})
    for number in range(4):
        reply = answer(Visit("/once/a", scheme="http", address=f"203.0.113.{number}"))
        assert (number, reply.status, "set-cookie" in reply.headers) == (number, 200, True)


def test_a_visitor_with_an_id_that_no_requester_can_have_counts_as_unknown(site: Site):
    for who in ("x" * 256, "   "):
        assert [site(target, who=who).status for target in ("/about", "/premium/a")] == [200, 402]


FORGED = {
    "X-Access-Requester": "forged",
    "X-Access-Decision": "forged",
    "X_Access-Id": "forged",
    "X-Licensing-Requester": "org_globex",
    "X-Licensing-Url": "https://pub.example/about",
    "X-Forwarded-Uri": "/about",
    "X-Original-URL": "https://pub.example/about",
}


def test_no_header_of_a_visitor_says_who_he_is_or_what_he_reads(site: Site, client: Client):
    assert site("/premium/a", headers=FORGED).status == 402
    seen = site("/about", headers=FORGED, who="org_globex").seen
    assert (seen["x-access-decision"], seen["x-access-requester"]) == ("allow", "org_globex")
    assert "forged" not in seen.values()
    assert not [name for name in seen if name.startswith("x-licensing")]
    client.update_own_account({"unknownHost": "deny"})
    assert site("/premium/a", headers={"Host": "other.example"}).status == 403


@pytest.mark.parametrize("end", ["/about?", "%2Fabout%3F"])
def test_a_host_that_contains_another_page_stays_a_host_in_the_question(end: str):
    asked = paywall.Visit("GET", "https", f"{HOST}{end}", "/premium/a", "", None, None, {}).url
    assert asked == f"https://{HOST}{quote(end, safe='')}/premium/a"


@needs_node
def test_a_host_that_contains_another_page_opens_nothing_in_express(service: Service, policies: dict[str, str]):
    answer = WAYS["Express"]({"url": service.url, "key": service.key, "fail_open": False})
    for end in ("/about?", "%2Fabout%3F"):
        assert not answer(Visit("/premium/a", headers={"Host": f"{HOST}{end}"})).is_page


def test_a_site_that_names_its_host_ignores_the_visitors(way, service, policies):
    answer = way({"url": service.url, "key": service.key, "fail_open": False, "host": HOST})
    assert answer(Visit("/premium/a", headers={"Host": "other.example"})).status == 402
    assert answer(Visit("/premium/a", headers={"Host": "other.example"}, who="org_globex")).is_page


@pytest.mark.parametrize("host", ["bücher.example", "книги.example"])
def test_a_host_may_be_named_in_any_script(way, service, client, policies, host):
    rules: Any = [{"pattern": "/premium/*", "policyId": policies["premium"]}]
    client.create_site({"host": host, "mode": "enforce", "rules": rules})
    answer = way({"url": service.url, "key": service.key, "fail_open": False, "host": host})
    assert [answer(Visit("/premium/a", who=who)).status for who in (None, "org_globex")] == [402, 200]


def test_odd_headers_and_ids_and_head_are_answered(site: Site, client: Client):
    for value in ("Reader\x01/1.0", "  Lektüre ", "a" * 2_000):
        assert site("/about", headers={"User-Agent": value}).is_page
        assert site("/premium/a", headers={"User-Agent": value}).status == 402
    client.create_license({"requesterId": "a b%&ü", "licenseType": "commercial"})
    assert site("/premium/a", who="a b%&ü").is_page
    refused = site("/premium/a", method="HEAD")
    assert (refused.status, int(refused.headers.get("content-length", "1")) > 0) == (402, True)


def answers_to(way: Callable[..., Answer], url: str, key: str = "svc_sk_x") -> dict[str, int]:
    """Return the statuses of /about and /premium/a by the site's fail_open choice."""
    choices: dict[str, Any] = {"closed": False, "open": True, "by path": lambda path: path == "/about"}
    found = {}
    for name, fail_open in choices.items():
        answer = way({"url": url, "key": key, "fail_open": fail_open})
        found[name] = [answer(Visit(target, headers=FORGED)).status for target in ("/about", "/premium/a")]
    return found


CHOSEN = {"closed": [503, 503], "open": [200, 200], "by path": [200, 503]}
NEVER = {"closed": [503, 503], "open": [503, 503], "by path": [503, 503]}


def test_the_site_chooses_what_stays_open_without_doubtful_spellings_and_forged_headers(way: Callable[..., Answer]):
    assert answers_to(way, f"http://127.0.0.1:{free_port()}") == CHOSEN
    answer = way({"url": f"http://127.0.0.1:{free_port()}", "key": "svc_sk_x", "fail_open": lambda path: True})
    page = answer(Visit("/about"))
    assert (page.is_page, page.headers["cache-control"]) == (True, "private")
    for target in ("/about/..;/premium/a", "/about/%252e%252e/premium/a", "//premium/a", "/about/.%00./premium/a"):
        assert answer(Visit(target)).status == 503
    answer = way({"url": f"http://127.0.0.1:{free_port()}", "key": "svc_sk_x", "fail_open": True})
    seen = answer(Visit("/about", headers=FORGED)).seen
    assert not [name for name in seen if name.startswith(("x-access", "x-licensing"))]


def test_a_service_that_stalls_keeps_nobody_waiting(way: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch):
    assert middleware.TIMEOUT == 2
    assert "TIMEOUT = 2_000;" in (ROOT / "clients/typescript/src/middleware.ts").read_text()
    monkeypatch.setattr(middleware, "TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts connections and never replies
        assert answers_to(way, f"http://127.0.0.1:{silent.getsockname()[1]}") == CHOSEN


@pytest.mark.parametrize("name", ["WSGI", "Flask", "Django"])
def test_a_service_that_stalled_is_not_asked_for_ten_seconds(name, settings, monkeypatch):
    settings.ALLOWED_HOSTS = ["*"]
    monkeypatch.setattr(middleware, "TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        answer = WAYS[name]({"url": url, "key": "svc_sk_x", "fail_open": lambda path: path == "/about"})
        replies = [answer(Visit(target)) for target in ("/about", "/premium/a", "/about")]
        assert [reply.status for reply in replies] == [200, 503, 200]
        assert replies[1].headers["retry-after"] == "10"
        assert replies[1].headers["cache-control"] == "no-store"
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
        later = time.monotonic() + paywall.PAUSE
        monkeypatch.setattr(paywall, "monotonic", lambda: later)
        assert answer(Visit("/about")).is_page
        silent.accept()[0].close()


@pytest.mark.parametrize(
    "head", [b"", b"HTTP/1.1 200 OK\r\nX-Access-Decision: allow\r\nContent-Length: 999999\r\n\r\n"]
)
def test_a_reply_that_trickles_in_keeps_nobody_waiting(way, monkeypatch, head):
    monkeypatch.setattr(middleware, "TIMEOUT", 0.3)

    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Send a byte now and then, until the client closes the connection."""
        with suppress(ConnectionError), closing(writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head)
            for byte in itertools.cycle(b"HTTP/1.1 200 OK\r\nX-Access-Decision: allow\r\n"):
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.1)

    async def visits() -> list[int]:
        server = await asyncio.start_server(trickle, "127.0.0.1", 0)
        try:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            answer = way({"url": url, "key": "svc_sk_x", "fail_open": lambda path: path == "/about"})
            async with asyncio.timeout(30):
                answers = [await asyncio.to_thread(answer, Visit(target)) for target in ("/about", "/premium/a")]
            return [one.status for one in answers]
        finally:
            server.close()

    assert asyncio.run(visits()) == CHOSEN["by path"]


def test_a_wrong_key_is_an_outage_whose_reason_is_logged(way, service, caplog):
    with caplog.at_level(logging.WARNING, logger="content_access_licensing"):
        assert answers_to(way, service.url) == CHOSEN
    assert "refused the site's request" in caplog.text
    assert "cannot be reached" not in caplog.text
    assert "invalid_api_key" in caplog.text
    assert "svc_sk_x" not in caplog.text


@pytest.mark.usefixtures("policies")
@pytest.mark.parametrize("name", ["WSGI", "Flask", "Django"])  # the others begin anew with each visit here
def test_a_site_that_observes_stays_open_while_the_service_is_away_whatever_was_visited_last(
    name, service, client, settings
):
    settings.ALLOWED_HOSTS = ["*"]
    [site] = client.list_sites()
    client.update_site(site["id"], {"mode": "observe"})
    key = client.create_api_key({"name": "Middleware", "type": "secret", "permissions": ["access:check"]})
    answer = WAYS[name]({"url": service.url, "key": key["key"], "fail_open": False})
    assert answer(Visit("/premium/a")).is_page
    assert answer(Visit("/robots.txt")).is_page
    client.revoke_api_key(key["id"])
    assert answer(Visit("/premium/a")).is_page


def test_a_visitor_cannot_make_the_service_unreachable(way, service, policies):
    answer = way({"url": service.url, "key": service.key, "fail_open": True})
    for name in ("User-Agent", "Authorization", "Signature", "Signature-Input", "crawler-max-price"):
        for value in ("a\x01b", "\x00", "a" * 70_000, "(" * 8_000, "\xff" * 100):
            assert not answer(Visit("/premium/a", headers={name: value})).is_page
    for target in ("/premium/" + "a" * 70_000, "/premium/a?" + "b" * 9_000, "/premium/\x01a", "/premium/%00"):
        assert not answer(Visit(target)).is_page


def test_an_answer_without_a_decision_is_an_outage_unless_the_visitor_can_cause_it(way, caplog):
    async def visits(status: str) -> dict[str, list[int]]:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 7\r\nConnection: close\r\n\r\nWelcome".encode())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            return await asyncio.to_thread(answers_to, way, f"http://127.0.0.1:{port}")

    assert asyncio.run(visits("404 Not Found")) == CHOSEN
    assert "is it right, without /v1? 404 Welcome" in caplog.text
    assert asyncio.run(visits("400 Bad Request")) == NEVER
    assert "did not decide about https://pub.example/about: 400 Welcome" in caplog.text


@pytest.mark.parametrize("status", [200, 204, 302, 401, 402, 403, 429, 502])
def test_a_decision_is_named_by_its_header(status: int):
    visit = paywall.Visit("GET", "https", HOST, "/about", "", None, None, {})
    other = {"x-access-decision": "deny" if status < 400 else "allow"}
    for fail_open, expected in ((False, 503), (True, None)):
        gate = paywall.Paywall("svc_sk_x", fail_open)
        for headers in ({}, other):
            assert gate.verdict(visit, httpx.Response(status, headers=headers)).status == expected


def test_a_websocket_is_refused_before_it_opens(service: Service, policies: dict[str, str]):
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})

    async def connected(target: str) -> str:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "websocket.connect"}

        async with httpx.AsyncClient(trust_env=False) as http:
            guarded = AsgiMiddleware(app, service.url, service.key, fail_open=False, http=http)
            scope = {**Visit(target).scope, "type": "websocket", "scheme": "wss"}
            scope.pop("method")
            await guarded(scope, receive, send)
        return str(sent[0]["type"])

    assert asyncio.run(connected("/premium/a")) == "websocket.close"
    assert asyncio.run(connected("/about")) == "websocket.accept"


def test_a_server_may_leave_out_the_scheme():
    """It is optional in ASGI."""
    scope = {name: value for name, value in Visit("/about").scope.items() if name != "scheme"}
    guarded = AsgiMiddleware(None, "http://127.0.0.1", "svc_sk_x", fail_open=False)  # type: ignore[arg-type]
    assert asyncio.run(guarded.visit(scope)).url == f"http://{HOST}/about"


def test_the_choice_has_to_be_made(service: Service):
    with pytest.raises(TypeError):
        AsgiMiddleware(None, service.url, service.key)  # type: ignore[arg-type, call-arg]


def test_middleware_keeps_no_cookies():
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, headers={"X-Access-Decision": "allow", "Set-Cookie": "licensing_visitor=a; Path=/"})

    http = httpx.Client(transport=httpx.MockTransport(answer))
    app = middleware.WsgiMiddleware(
        lambda environ, start: [], "http://licensing.example", "svc_sk_x", fail_open=False, http=http
    )
    for _ in range(2):
        app(Visit("/").environ, None)
    assert ["cookie" in request.headers for request in seen] == [False, False]
