"""The table of visitors (visitors.py): every section, mode and proxy, with and without a CDN.

Visitors have addresses on the Internet, which a load balancer passes on by the PROXY protocol, or an nginx that stands
for a CDN by X-Forwarded-For. A name server of the tests knows the names of crawlers, and an https server of the tests
publishes a signer's keys.
"""

import itertools
import json
import re
import socketserver
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from threading import Thread
from typing import Any
from xml.etree import ElementTree

import dns.message
import dns.rcode
import dns.rdatatype
import dns.reversename
import dns.rrset
import httpx
import pytest

from tests.clients.wordpress import wordpress
from tests.documentation.blocks import block
from tests.edge.signers import RAW, published, signed
from tests.edge.tokens import RSL, basic
from tests.factories import ALLOW_ALL
from tests.faults.harness import Deployment, eventually
from tests.faults.proxies.conftest import LICENSEES, NOBODY
from tests.faults.proxies.programs import CDN, HOST, Balanced, Place, Proxy, running
from tests.faults.proxies.visitors import (
    AGENTS,
    ANTHROPIC,
    APPLE,
    BING,
    BROWSER,
    GOOGLEBOT,
    GPTBOT,
    HOME,
    NEWS,
    OPENAI,
    SECTIONS,
    SOLD,
    UNKNOWN,
    VISITORS,
    YANDEX,
    Visitor,
)
from tests.outbound.receivers import certificate_of, receiver
from tests.services import free_port

SEARCH = {"action": "allow", "priority": 2, "conditions": {"permission": "search"}, "permissions": ["search"]}
TRAINING = {
    "action": "allow",
    "priority": 3,
    "conditions": {"permission": "ai_training"},
    "permissions": ["ai_training"],
    "pricePerAccess": {"amount": "0.015", "currency": "USD"},
}
LINKING = ["preview", "ads"]
NAMED = {"action": "allow", "priority": 3, "conditions": {"permission": LINKING}, "permissions": LINKING}
KEPT = {**ALLOW_ALL, "permissions": ["read", "search", "archive"]}
SOLD_RULES = [{**LICENSEES, "priority": 1}, SEARCH, TRAINING, NOBODY]
OTHERS = "/others/*"


def rules_of_guide(name: str) -> list[dict[str, Any]]:
    """Return the rules of the policy in a guide; its limit is higher, because all visitors share an address."""
    [body] = re.findall(r"api policies -d '(.*?)' \|", block(f"docs/guides/{name}.md", "POLICY="), re.DOTALL)
    rules: list[dict[str, Any]] = json.loads(body)["rules"]
    return [
        rule | ({"rateLimit": {**rule["rateLimit"], "requests": 9999}} if "rateLimit" in rule else {})
        for rule in rules
    ]


FOLDERS: dict[str, list[dict[str, Any]]] = {
    "/free/*": [ALLOW_ALL],
    "/premium/*": SOLD_RULES,
    OTHERS: [{**LICENSEES, "priority": 1}, NOBODY],
    "/paying/*": rules_of_guide("price-a-crawler"),
    "/archive/*": [KEPT],
    "/reports/*": [{**LICENSEES, "priority": 1}, SEARCH, NAMED, NOBODY],
    "/metered/*": rules_of_guide("free-articles"),
    "/feed.xml": [ALLOW_ALL],
    "/category/free/*": [ALLOW_ALL],  # of WordPress
}
# Verified by the lists that are loaded, and by the names of their addresses.
LISTS = {"GPTBot": OPENAI, "ClaudeBot": ANTHROPIC}
NAMES = {
    YANDEX: "spider-5-255-253-9.yandex.com.",
    BING: "msnbot-157-55-39-9.search.msn.com.",
    APPLE: "17-241-75-9.applebot.apple.com.",
}
OF_GOOGLE = re.compile(r"crawl-(66-249-\d+-\d+)\.googlebot\.com\.").fullmatch
NAMING = ("CF-Connecting-IP", "X-Real-IP")  # headers with the visitor's address, for a Worker and for WordPress
OFFER = {"crawler-max-price": "USD 0.05"}
new_addresses = (f"66.249.{third}.{fourth}" for third in range(67, 96) for fourth in range(1, 255))
nonces = map(str, itertools.count())


class NameServer(socketserver.BaseRequestHandler):
    """Knows the names of Google's addresses, and their addresses again. There is nothing else."""

    def handle(self) -> None:
        data, socket = self.request
        query = dns.message.from_wire(data)
        reply = dns.message.make_response(query)
        name, kind = query.question[0].name, query.question[0].rdtype
        found = OF_GOOGLE(str(name))
        address = str(dns.reversename.to_address(name)) if kind == dns.rdatatype.PTR else ""
        if address.startswith("66.249."):
            own = f"crawl-{address.replace('.', '-')}.googlebot.com."
            reply.answer = [dns.rrset.from_text(name, 60, "IN", "PTR", own)]
        elif kind == dns.rdatatype.PTR and address in NAMES:
            reply.answer = [dns.rrset.from_text(name, 60, "IN", "PTR", NAMES[address])]
        elif kind == dns.rdatatype.A and (known := [ip for ip, host in NAMES.items() if host == str(name)]):
            reply.answer = [dns.rrset.from_text(name, 60, "IN", "A", *known)]
        elif kind == dns.rdatatype.A and found:
            reply.answer = [dns.rrset.from_text(name, 60, "IN", "A", found[1].replace("-", "."))]
        else:
            reply.set_rcode(dns.rcode.NXDOMAIN)
        socket.sendto(reply.to_wire(), self.client_address)


@pytest.fixture(scope="module")
def name_server() -> Iterator[int]:
    with socketserver.ThreadingUDPServer(("127.0.0.1", 0), NameServer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture(scope="module")
def service(name_server: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    directory = tmp_path_factory.mktemp("service")
    tls, _ = certificate_of("signer.example", directory)
    keys = published(RAW)
    lines = f"Content-Type: {keys.headers['content-type']}\r\nContent-Length: {len(keys.body)}"
    with receiver(f"HTTP/1.1 200 OK\r\n{lines}\r\n\r\n".encode() + keys.body, tls) as signer:
        made = Deployment(
            directory,
            NAME_SERVER_PORT=str(name_server),
            SIGNER_PORT=str(signer.port),
            SIGNER_CERTIFICATE=str(directory / "certificate.pem"),
        )
        try:
            made.migrate()
            for crawler, address in LISTS.items():
                (directory / "list.json").write_text(json.dumps({"prefixes": [{"ipv4Prefix": f"{address}/32"}]}))
                made.manage("load_crawler_addresses", crawler, str(directory / "list.json"))
            made.start(("-m", "tests.faults.proxies.serving"))
            yield made
        finally:
            made.close()


class Publisher:
    """An account with a site, a licensee with a token, a customer with a key, and a licensed signer."""

    def __init__(self, service: Deployment) -> None:
        self.service = service
        [(key, _)] = service.accounts(1)
        self.api = service.client(key)
        policies = {folder: self.api.policy(*rules, defaultAction="deny") for folder, rules in FOLDERS.items()}
        rules = [{"pattern": pattern, "policyId": policy} for pattern, policy in policies.items()]
        self.site = self.api.create("/v1/sites", host=HOST, unknown="deny", rules=rules)
        self.edge_key = self.new_key("access:check")["key"]
        self.customer = self.new_key("content:read")
        for requester in ("org_acme", "agent:signer.example", self.customer["id"], "crawler:claudebot"):
            self.api.create("/v1/licenses", requesterId=requester, licenseType="ai")
        client = self.post("/v1/license-clients", requesterId="org_acme")
        self.credentials = basic(client["id"], client["secret"])

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        reply = self.api.post(path, json=body)
        assert reply.status_code == 201, reply.text
        return reply.json()

    def new_key(self, permission: str) -> dict[str, Any]:
        return self.post("/v1/api-keys", name=permission, type="secret", permissions=[permission])

    def change(self, **fields: str) -> None:
        self.api.patch(f"/v1/sites/{self.site}", json=fields).raise_for_status()

    def token(self, pattern: str) -> str:
        """Return a licence token for the pages of a pattern, by its published licence."""
        url = f"https://{HOST}{pattern}"
        terms = httpx.get(f"{self.service.url}/license.xml", headers={"Host": HOST, "X-Licensing-Key": self.edge_key})
        [content] = [one for one in ElementTree.fromstring(terms.content) if one.attrib["url"] == url]  # noqa: S314
        licence = ElementTree.tostring(content.find(f"{RSL}license"), encoding="unicode")  # type: ignore[arg-type]
        reply = httpx.post(
            f"{self.service.url}/olp/token",
            data={"grant_type": "client_credentials", "resource": url, "license": licence},
            headers={"Authorization": self.credentials},
        )
        return reply.json()["access_token"]


@pytest.fixture(scope="module")
def publisher(service: Deployment) -> Publisher:
    return Publisher(service)


@pytest.fixture(scope="module", params=["direct", "CDN"])
def front(
    request: pytest.FixtureRequest,
    proxy: Proxy,
    service: Deployment,
    publisher: Publisher,
    origin: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Place]:
    """A proxy, behind a load balancer or a CDN. A Worker is the CDN itself, which names the address in a header."""
    has_cdn, is_worker = request.param == "CDN", proxy.name == "workerd"
    if has_cdn and is_worker:
        pytest.skip("A Worker runs in the CDN.")
    directory, keys = tmp_path_factory.mktemp(proxy.name), (publisher.edge_key, service.port)
    balanced = not has_cdn and not is_worker
    at = Place(*keys, origin, free_port(), directory, behind_balancer=balanced, behind_cdn=has_cdn)
    with ExitStack() as stack:
        stack.enter_context(running(proxy, at))
        if has_cdn:
            before = Place("", 0, at.port, free_port(), tmp_path_factory.mktemp("cdn"), behind_balancer=True)
            stack.enter_context(running(CDN, before))
            at = before
        yield at


Reply = tuple[int, Mapping[str, str], bytes]


def visit(at: Place, path: str, address: str, headers: Mapping[str, str]) -> Reply:
    connection = Balanced(at, address) if at.behind_balancer else HTTPConnection("127.0.0.1", at.port, timeout=30)
    with closing(connection):
        connection.request("GET", path, headers={"Host": HOST, **dict.fromkeys(NAMING, address), **headers})
        reply = connection.getresponse()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()


def signature(path: str, host: str = HOST) -> dict[str, str]:
    headers = signed(url=f"http://{host}{path}", nonce=next(nonces))
    return {name.replace("_", "-"): value for name, value in headers.items()}


def visits(at: Place, publisher: Publisher) -> dict[str, Callable[[str], Reply]]:
    """Return what each visitor of the table does, in its order."""
    right, others = (f"License {publisher.token(pattern)}" for pattern in ("/premium/*", OTHERS))
    latest = {"address": ""}

    def plain(address: str, **headers: str) -> Callable[[str], Reply]:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return lambda path: visit(at, path, address, sent)

    def first(path: str) -> Reply:
        latest["address"] = next(new_addresses)
        return visit(at, path, latest["address"], {"User-Agent": GOOGLEBOT})

    def twice(path: str) -> Reply:
        headers = signature(path)
        visit(at, path, HOME, headers)
        return visit(at, path, HOME, headers)

    done = [
        plain(HOME, User_Agent=BROWSER, Accept="text/html"),
        plain(HOME),
        first,
        lambda path: visit(at, path, latest["address"], {"User-Agent": GOOGLEBOT}),
        plain(HOME, User_Agent=GOOGLEBOT),
        plain(HOME, User_Agent=GPTBOT),
        plain(HOME, User_Agent=GPTBOT, **OFFER),
        plain(OPENAI, User_Agent=GPTBOT),
        plain(OPENAI, User_Agent=GPTBOT, **OFFER),
        plain(HOME, Authorization=right),
        plain(HOME, Authorization="License abc.def.ghi"),
        plain(HOME, Authorization=others),
        lambda path: visit(at, path, HOME, signature(path)),
        lambda path: visit(at, path, HOME, signature(path, host="other.example")),
        twice,
        plain(HOME, Authorization=f"Bearer {publisher.customer['key']}"),
    ]
    agents = {
        one.name: plain(one.address, **({} if one.user_agent is None else {"User_Agent": one.user_agent}))
        for one in AGENTS
    }
    return dict(zip((visitor.name for visitor in VISITORS), done, strict=True)) | agents


def requester_of(reply: Reply) -> str | None:
    """Return the requester that the origin was told; None if the request did not reach it."""
    status, _, body = reply
    assert (status == 200) == (b'"page": "of the origin"' in body)
    return json.loads(body).get("x-access-requester") if status == 200 else None


def path_of(section: str, end: str) -> str:
    own = {
        NEWS: f"/free/{end}",
        SOLD: f"/premium/{end}",
        UNKNOWN: f"/elsewhere/{end}",
        "feed": "/feed.xml",
        "ads.txt": "/ads.txt",
        "image": f"/assets/{end}.png",
    }
    return own.get(section, f"/{section}/{end}")


def every_visitor() -> list[Visitor]:
    return [*VISITORS, *(Visitor(one.name, one.requester, one.statuses) for one in AGENTS)]


@pytest.mark.parametrize(
    ("mode", "unknown"), [("enforce", "deny"), ("enforce", "allow"), ("observe", "deny"), ("disabled", "deny")]
)
def test_visitors_get_what_the_table_says(front, publisher, proxy, mode, unknown):
    publisher.change(mode=mode, unknown=unknown)
    end = f"{proxy.name}/{mode}/{unknown}/{front.port}"
    assert eventually(lambda: requester_of(visit(front, "/free/a", HOME, signature("/free/a"))) != "anonymous")
    wanted, got = {}, {}
    acts = visits(front, publisher)
    sections = SECTIONS if mode == "enforce" else (NEWS, SOLD, "reports", UNKNOWN)
    for visitor in every_visitor():
        for section in sections:
            is_open = mode != "enforce" or (section, unknown) == (UNKNOWN, "allow")
            status = 200 if is_open else visitor.status(section)
            reply = acts[visitor.name](path_of(section, end))
            where = f"{visitor.name}, {section}"
            wanted[where], got[where] = status, reply[0]
            if status == 200 and section in (NEWS, SOLD, UNKNOWN):
                requester = visitor.requester_on(section).replace("key_…", publisher.customer["id"])
                wanted["requester", where], got["requester", where] = requester, requester_of(reply)
            if section == SOLD and mode == "enforce" and visitor.shown:
                name, value = visitor.shown
                value = "" if status == 200 and not proxy.shows_headers else value
                wanted[name, where], got[name, where] = value, reply[1].get(name, "")[: len(value) or None]
    assert {where: got[where] for where in wanted if got[where] != wanted[where]} == {}
    if mode == "observe":
        url = f"https://{HOST}{path_of(SOLD, end)}"
        decisions = publisher.api.get("/v1/access/decisions", params={"url": url, "limit": 100}).json()["data"]
        refused = {one["requester"]["id"] for one in decisions if "observed" in one}
        assert refused == {one.requester for one in every_visitor() if one.status(SOLD) != 200}


def path_in_wordpress(section: str) -> str:
    """Return the path of a post in the section's category, or of WordPress's own feed, file and image."""
    own = {
        NEWS: "/free/free-post/",
        SOLD: "/premium/premium-post/",
        UNKNOWN: "/study/s1/",  # exists, and no pattern names it
        "feed": "/category/free/feed/",
        "ads.txt": "/ads.txt",
        "image": "/wp-includes/images/blank.gif",
    }
    return own.get(section, f"/{section}/{section}-post/")


def test_visitors_get_what_the_table_says_in_wordpress(service, publisher, request, tmp_path):
    """The whole run alone has WordPress. Visitors' addresses come as from a CDN."""
    if request.config.option.sample is not None:
        pytest.skip("It takes part in the whole run only.")
    categories = [section for section in SECTIONS if path_in_wordpress(section).endswith("-post/")]
    with wordpress(tmp_path, service.url, publisher.edge_key, categories=set(categories) - {NEWS, SOLD}) as blog:
        acts = visits(Place(publisher.edge_key, service.port, 0, blog.port, tmp_path), publisher)
        for mode, sections in (("enforce", SECTIONS), ("observe", (SOLD,)), ("disabled", (SOLD,))):
            publisher.change(mode=mode, unknown="deny")
            wrong = {}
            for visitor in every_visitor():
                for section in sections:
                    status = acts[visitor.name](path_in_wordpress(section))[0]
                    if status != (visitor.status(section) if mode == "enforce" else 200):
                        wrong[visitor.name, section] = status
            assert wrong == {}, mode
