import inspect
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from content_access_licensing import Client, protocol

from kit.openapi.error_examples import ADVICE, error_codes
from tests.clients.generate import ROOT
from tests.documentation.blocks import block, blocks
from tests.documentation.running import filled, ran
from tests.documentation.tables import tables_of
from tests.edge.published import may_fetch
from tests.openapi.node import TOOLS, needs_node
from tests.served import Service

GUIDES = "docs/guides"


def test_the_catalogue_knows_what_to_do_about_every_code():
    assert sorted(ADVICE) == error_codes()


def test_the_guide_to_retries_has_the_bounds_of_the_clients(monkeypatch: pytest.MonkeyPatch):
    guide = (ROOT / GUIDES / "retries.md").read_text()
    options = inspect.signature(Client).parameters
    retries, timeout = options["retries"].default, options["timeout"].default
    assert f"| {retries} | `retries` |" in guide
    assert f"| {timeout} seconds | `timeout` |" in guide
    assert f"| {protocol.LONGEST_WAIT:.0f} seconds | |" in guide
    waited = []
    for chance in (1, 2):  # the least and the most
        monkeypatch.setattr(random, "uniform", lambda least, most, chance=chance: chance)
        call, failure = protocol.call("GET", "/v1/content"), httpx.ConnectError("refused")
        waited.append(sum(protocol.wait_after(call, attempt, failure) or 0 for attempt in range(retries)))
    assert f"| {waited[0]} to {waited[1]} seconds | |" in guide
    typescript = "".join((ROOT / f"clients/typescript/src/{name}.ts").read_text() for name in ("client", "protocol"))
    assert f"retries = {retries}, timeout = {timeout}_000" in typescript
    assert f"LONGEST_WAIT = {protocol.LONGEST_WAIT:.0f}" in typescript


@pytest.fixture
def pages(client: Client) -> None:
    """Register https://pub.example/a, which only org_globex may access."""
    rule: Any = {"action": "allow", "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]}
    policy = client.create_policy({"name": "Licensed only", "rules": [rule]})
    rules: Any = [{"pattern": "/a", "policyId": policy["id"]}]
    client.create_site({"host": "pub.example", "mode": "enforce", "rules": rules})
    client.create_license({"requesterId": "org_globex", "licenseType": "commercial"})


def test_the_quickstart_in_curl(service: Service, tmp_path: Path):
    script = filled(block("docs/start/quickstart.md", "URL="), service)
    for _ in range(2):
        saved, denied = map(json.loads, ran("bash", "-euc", script, cwd=tmp_path).splitlines())
        assert saved["data"][0]["content"]["policyId"].startswith("pol_")
    assert (denied["allowed"], denied["reason"]) == (False, "no_license")


def test_the_sites_of_the_guide_to_wordpress(service: Service, client: Client, tmp_path: Path):
    shorthands = filled(block("docs/start/quickstart.md", "URL="), service)
    steps = [block(f"{GUIDES}/wordpress.md", first) for first in ("api", "FREE=")]
    script = "\n".join([shorthands, "echo BEGIN", *steps])
    key, site, magazine = map(
        json.loads, ran("bash", "-euc", script, cwd=tmp_path).partition("BEGIN\n")[2].splitlines()
    )
    assert (key["permissions"], key["allowedHosts"]) == (["access:check"], ["blog.example"])
    assert (site["mode"], site["unknown"], len(site["rules"])) == ("observe", "allow", 1)
    assert (magazine["mode"], magazine["unknown"], len(magazine["rules"])) == ("observe", "deny", 5)
    site_key = {"Host": "magazine.example", "X-Licensing-Key": service.key}
    robots = httpx.get(f"{service.url}/robots.txt", headers=site_key, trust_env=False).text
    for path in ("/", "/about/", "/premium/a/", "/wp-content/uploads/x.jpg", "/wp-includes/css/x.css"):
        assert may_fetch(robots, "Googlebot", path), path
    for path in ("/feed/", "/page/2/", "/category/a/"):
        assert not may_fetch(robots, "Googlebot", path), path

    free, sold = (magazine["rules"][place]["policyId"] for place in (0, -1))
    _, *rows = tables_of(f"{GUIDES}/wordpress.md", "to open")[0]
    added = [pattern for _, cell, _ in rows for pattern in re.findall("`(/[^`]+)`", cell)]
    assert "/category/*/feed/" in added
    rules: Any = [{"pattern": pattern, "policyId": sold if pattern.endswith("/feed/") else free} for pattern in added]
    client.update_site(magazine["id"], {"mode": "enforce", "rules": [*magazine["rules"], *rules]})
    robots = httpx.get(f"{service.url}/robots.txt", headers=site_key, trust_env=False).text
    for path in ("/page/2/", "/category/a/", "/category/a/page/2/", "/tag/a/", "/author/ada/", "/search/", "/?s=a"):
        assert may_fetch(robots, "Googlebot", path), path
    for path, status in (
        ("/category/a/", 200), ("/search/", 200), ("/tag/a/feed/", 402), ("/search/feed/", 402), ("/feed/", 403),
        ("/wp-json/contact-form-7/v1/contact-forms/5/feedback", 200), ("/wp-json/wp/v2/posts", 403),
    ):  # fmt: skip
        question = {
            "X-Licensing-Key": service.key, "X-Licensing-Url": f"https://magazine.example{path}",
            "X-Licensing-Method": "GET", "X-Licensing-Address": "203.0.113.9", "X-Licensing-Requester": "",
            "User-Agent": "Firefox",
        }  # fmt: skip
        reply = httpx.get(f"{service.url}/v1/access/middleware", headers=question, trust_env=False)
        assert (path, reply.status_code) == (path, status)


def test_the_quickstart_in_python(service: Service, tmp_path: Path):
    script = filled(block("docs/start/quickstart.md", "from"), service)
    for _ in range(2):
        assert ran(sys.executable, "-c", script, cwd=tmp_path) == "True ['full_access']\n"


def test_the_loop_over_pages_finds_everything(client: Client, service: Service, tmp_path: Path):
    for number in range(3):
        client.create_content({"title": f"Item {number}"})
    loop = filled(block(f"{GUIDES}/lists.md"), service).replace('"limit": 100', '"limit": 1')
    assert ran(sys.executable, "-c", loop, cwd=tmp_path) == "Item 2\nItem 1\nItem 0\n"


def test_the_example_of_the_python_client(client: Client, service: Service, tmp_path: Path):
    for kind in ("report", "image"):
        client.create_content({"title": f"A {kind}", "type": kind})
    example = filled(block("clients/python/README.md"), service)
    assert ran(sys.executable, "-c", example, cwd=tmp_path) == "A report\n"


SETTINGS = """
API_KEY, API_URL = {key!r}, {url!r}
SECRET_KEY = "for signed cookies"
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
ALLOWED_HOSTS = ["pub.example"]
MIDDLEWARE = ["django.contrib.sessions.middleware.SessionMiddleware", "yoursite.licensing.Licensed"]
ROOT_URLCONF = "yoursite.urls"
"""
URLS = """
from django.http import HttpResponse
from django.urls import path
urlpatterns = [path("a", lambda request: HttpResponse("Page"))]
"""
VISITS_OF_DJANGO = """
import django
django.setup()
from django.test import Client
for who in ("org_acme", "org_globex", None):
    site = Client(headers={"Host": "pub.example"})
    session = site.session
    session["subscriber"] = who
    session.save()
    site.cookies["sessionid"] = session.session_key
    print(site.get("/a", secure=True).status_code)
"""
ASGI = """
API_KEY, API_URL = {key!r}, {url!r}
def subscriber_of(scope):
    return dict(scope["headers"]).get(b"x-session", b"").decode() or None
async def app(scope, receive, send):
    await send({{"type": "http.response.start", "status": 200, "headers": []}})
    await send({{"type": "http.response.body", "body": b"Page"}})
"""
WSGI = """
API_KEY, API_URL = {key!r}, {url!r}
def subscriber_of(environ):
    return environ.get("HTTP_X_SESSION")
def app(environ, start_response):
    start_response("200 OK", [])
    return [b"Page"]
"""
VISITS_OF_ASGI = """
import asyncio, httpx
from yoursite.licensing import licensed
async def visits():
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=licensed), base_url="https://pub.example") as site:
        for who in ({"X-Session": "org_acme"}, {"X-Session": "org_globex"}, {}):
            print((await site.get("/a", headers=who)).status_code)
asyncio.run(visits())
"""
VISITS_OF_WSGI = """
import httpx
from yoursite.licensing import licensed
with httpx.Client(transport=httpx.WSGITransport(app=licensed), base_url="https://pub.example") as site:
    for who in ({"X-Session": "org_acme"}, {"X-Session": "org_globex"}, {}):
        print(site.get("/a", headers=who).status_code)
"""
ANSWERS = "402\n200\n402\n"


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize(
    ("recipe", "others", "visits"),
    [
        ("DjangoMiddleware", {"settings": SETTINGS, "urls": URLS}, VISITS_OF_DJANGO),
        ("AsgiMiddleware", {"main": ASGI}, VISITS_OF_ASGI),
        ("WsgiMiddleware", {"main": WSGI}, VISITS_OF_WSGI),
    ],
    ids=["Django", "ASGI", "WSGI"],
)
def test_the_recipes_in_python(service: Service, tmp_path: Path, recipe: str, others: dict[str, str], visits: str):
    (tmp_path / "yoursite").mkdir()
    [printed] = [one for one in (one.text for one in blocks()) if f"middleware import {recipe}" in one]
    for name, text in {**others, "licensing": printed}.items():
        has_fields = name in ("settings", "main")
        (tmp_path / "yoursite" / f"{name}.py").write_text(
            text.format(key=service.key, url=service.url) if has_fields else text
        )
    assert ran(sys.executable, "-c", visits, cwd=tmp_path, DJANGO_SETTINGS_MODULE="yoursite.settings") == ANSWERS


SESSION = 'export const subscriberOf = (request: Request) => request.headers.get("x-session");\n'
GLOBALS = "declare const process: { env: Record<string, string | undefined> };\n"
VISITS_OF_TYPESCRIPT = """
import worker from "./worker.js";
const env = { API_KEY: process.env.API_KEY, API_URL: process.env.API_URL };
const service = globalThis.fetch;
const isService = (asked) => String(asked.url ?? asked).startsWith(env.API_URL);
globalThis.fetch = (asked, ...rest) => (isService(asked) ? service(asked, ...rest) : new Response("Page"));
for (const headers of [{ "x-session": "org_acme" }, { "x-session": "org_globex" }, {}]) {
  console.log((await worker.fetch(new Request("https://pub.example/a", { headers }), env)).status);
}
"""


@needs_node
@pytest.mark.usefixtures("pages")
def test_the_recipe_for_workers(service: Service, package: Path):
    """The recipe for Next runs in tests/clients/test_next.py."""
    [printed] = [one.text for one in blocks() if one.path == f"{GUIDES}/clients.md" and "export default" in one.text]
    (package / "worker.ts").write_text(printed)
    (package / "session.ts").write_text(SESSION)
    (package / "globals.d.ts").write_text(GLOBALS)
    options = {"strict": True, "target": "es2022", "module": "nodenext", "types": []}
    (package / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.ts"]}))
    ran(TOOLS / "tsc", "-p", package, cwd=package)
    (package / "visits.mjs").write_text(VISITS_OF_TYPESCRIPT)
    told = ran("node", "visits.mjs", cwd=package, API_KEY=service.key, API_URL=service.url)
    assert told == ANSWERS


@needs_node
def test_the_quickstart_in_typescript(service: Service, package: Path):
    printed = filled(block("docs/start/quickstart.md", "import"), service)
    (package / "quick.ts").write_text(printed)
    strict = ("--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module", "nodenext")
    ran(TOOLS / "tsc", *strict, "--lib", "es2022,dom,dom.iterable", "--noEmit", "quick.ts", cwd=package)
    (package / "quick.mjs").write_text(printed)
    assert ran("node", "quick.mjs", cwd=package) == "true [ 'full_access' ]\n"


@needs_node
def test_the_example_of_the_typescript_client(client: Client, service: Service, package: Path):
    for kind in ("report", "image"):
        client.create_content({"title": f"A {kind}", "type": kind})
    (package / "example.mjs").write_text(filled(block("clients/typescript/README.md"), service))
    assert ran("node", "example.mjs", cwd=package) == "A report\n"
