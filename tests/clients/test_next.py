import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from time import monotonic, sleep

import httpx
import pytest
from content_access_licensing import Client

from tests.clients.generate import ROOT
from tests.documentation.blocks import blocks
from tests.documentation.running import ran
from tests.openapi.node import TOOLS, needs_node
from tests.served import Service
from tests.services import free_port

FOLDER = Path(__file__).parent / "next"
NEXT = FOLDER / "node_modules" / "next" / "dist" / "bin" / "next"
QUIET = {"NEXT_TELEMETRY_DISABLED": "1"}
SESSION = 'export const subscriberOf = (request: Request) => request.headers.get("x-session");\n'
LAYOUT = "export default ({ children }) => <html><body>{children}</body></html>;\n"
PAGE = """
import { headers } from "next/headers";

export default async function Page() {
  const shown = await headers();
  return `Page for ${shown.get("x-access-requester")}, ${shown.get("x-access-decision")}`;
}
"""
BROWSER = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0", "Accept": "text/html"}
GPTBOT = {"User-Agent": "GPTBot/1.2", "Accept": "text/html"}
SUBSCRIBERS = [
    {"action": "allow", "priority": 1, "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]},
    {"action": "deny", "conditions": {"default": True}, "message": "Buy a licence."},
]
SPELLINGS = (
    "/premium/a", "/%70remium/a", "/x/../premium/a", "/premium/a?_rsc=1", "/premium/a.rsc", "/premium/a/",
    "//premium/a", "/premium\\a", "/premium%2Fa", "/_next/data/development/premium/a.json",
)  # fmt: skip
OF_ROUTER: tuple[dict[str, str], ...] = (
    {},
    {"RSC": "1"},
    {"RSC": "1", "Next-Router-Prefetch": "1"},
    {"x-middleware-subrequest": "proxy:proxy"},
)

needs_next = pytest.mark.skipif(
    not NEXT.exists(), reason="Next is not installed: run `npm ci --ignore-scripts --omit=optional` in its folder."
)


@pytest.fixture
def built() -> Iterator[Path]:
    """A site with the guide's middleware. It is beside Next, because Next builds nothing outside its own root."""
    [middleware] = [
        one.text for one in blocks() if one.path == "docs/guides/clients.md" and "NextResponse" in one.text
    ]
    with tempfile.TemporaryDirectory(prefix="site-", dir=FOLDER) as made:
        site = Path(made)
        client = site / "node_modules" / "content-access-licensing"
        source = ROOT / "clients" / "typescript"
        shutil.copytree(source, client, ignore=shutil.ignore_patterns("node_modules", "dist"))
        ran(TOOLS / "tsc", "-p", client, cwd=site)
        pages = site / "app" / "[...path]"
        pages.mkdir(parents=True)
        (pages / "page.js").write_text(PAGE)
        (site / "app" / "layout.js").write_text(LAYOUT)
        (site / "session.ts").write_text(SESSION)
        (site / "proxy.ts").write_text(middleware)
        ran("node", NEXT, "build", cwd=site, **QUIET)
        yield site


@contextmanager
def serving(site: Path, url: str, key: str) -> Iterator[httpx.Client]:
    port = free_port()
    command = ["node", str(NEXT), "start", "--hostname", "127.0.0.1", "--port", str(port)]
    environment = os.environ | QUIET | {"no_proxy": "*", "API_URL": url, "API_KEY": key}
    with subprocess.Popen(command, cwd=site, env=environment) as process:
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=20) as visitor:
                wait_for(visitor)
                yield visitor
        finally:
            process.terminate()


def wait_for(visitor: httpx.Client) -> None:
    until = monotonic() + 60
    while not answers(visitor):
        assert monotonic() < until, "Next does not answer."
        sleep(0.1)


def answers(visitor: httpx.Client) -> bool:
    try:
        visitor.get("/_next/static/none.js")
    except httpx.TransportError:
        return False
    return True


def visit(port: int | None, target: str, headers: dict[str, str]) -> tuple[int, bytes]:
    """Return the status and body for a target that is sent as it is."""
    connection = HTTPConnection("127.0.0.1", port)
    with closing(connection):
        connection.request("GET", target, headers=headers)
        reply = connection.getresponse()
        return reply.status, reply.read()


@needs_node
@needs_next
def test_the_guides_middleware_lets_readers_in_and_refuses_crawlers(built: Path, service: Service):
    with Client(service.key, service.url, http=httpx.Client(trust_env=False)) as client:
        premium = client.create_policy({"name": "premium", "rules": SUBSCRIBERS})["id"]
        client.create_site(
            {"host": "pub.example", "mode": "enforce", "rules": [{"pattern": "/premium/*", "policyId": premium}]}
        )
        client.create_license({"requesterId": "org_globex", "licenseType": "commercial"})

        with serving(built, service.url, service.key) as visitor:
            reader = visitor.get("/about", headers={**BROWSER, "x-access-requester": "org_globex"})
            assert (reader.status_code, "Page for anonymous, allow" in reader.text) == (200, True)
            assert "set-cookie" not in reader.headers
            subscriber = visitor.get("/premium/a", headers={**BROWSER, "x-session": "org_globex"})
            assert (subscriber.status_code, "Page for org_globex, allow" in subscriber.text) == (200, True)

            refused = visitor.get("/premium/a", headers=GPTBOT)
            assert (refused.status_code, refused.headers["content-type"]) == (402, "text/html; charset=utf-8")
            assert "Buy a licence." in refused.text
            assert 'rel="license"' in refused.headers["link"]
            assert visitor.head("/premium/a", headers=GPTBOT).status_code == 402
            for target in SPELLINGS:
                for headers in OF_ROUTER:
                    status, body = visit(visitor.base_url.port, target, {**GPTBOT, **headers})
                    assert b"Page for" not in body, (target, headers)
                    assert status in (402, 308), (target, headers)

            asked = len(list(client.list_decisions()))
            static = built / ".next" / "static"
            path = next(static.rglob("*.js")).relative_to(static)
            script = visitor.get(f"/_next/static/{path}", headers=GPTBOT)
            assert (script.status_code, len(list(client.list_decisions()))) == (200, asked)

    with serving(built, f"http://127.0.0.1:{free_port()}", service.key) as visitor:
        statuses = [visitor.get(path, headers=BROWSER).status_code for path in ("/about", "/premium/a", "/%61bout")]
        assert statuses == [200, 503, 503]
