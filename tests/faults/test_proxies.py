"""Proxies themselves before an origin, by the files of deploy/edge: what visitors get, and what the origin sees.

A proxy that is not installed is skipped, with a line that says so; in CI all of them are required (.ci/run installs
them).
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest

from run import ROOT
from tests.faults.harness import Deployment, eventually
from tests.services import free_port

READERS = {"action": "allow", "conditions": {"default": True}, "permissions": ["read"]}
NOBODY = {"action": "deny", "conditions": {"default": True}, "message": "Not for you."}
PRICED = {**READERS, "pricePerAccess": {"amount": "0.01", "currency": "USD"}}
KEY = "svc_sk_PUT-THE-KEY-HERE"


class Origin(BaseHTTPRequestHandler):
    """Answers with the headers that it was sent."""

    def do_GET(self) -> None:
        body = json.dumps({name.lower(): value for name, value in self.headers.items()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Nothing: the tests say what went wrong."""


@pytest.fixture(scope="module")
def origin() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@dataclass(frozen=True)
class Place:
    """Where a proxy is started: its ports, the key, and a directory for its files."""

    key: str
    licensing: int
    origin: int
    port: int
    directory: Path

    def filled_in(self, name: str, *pairs: tuple[str, str]) -> str:
        """The file of deploy/edge as a publisher fills it in."""
        text = (ROOT / "deploy" / "edge" / name).read_text()
        for given, own in pairs:
            assert given in text
            text = text.replace(given, own)
        return text

    def written(self, name: str, text: str) -> str:
        (self.directory / name).write_text(text)
        return str(self.directory / name)


def nginx(at: Place) -> list[str]:
    text = at.filled_in(
        "nginx.conf",
        ("server 127.0.0.1:8000;", f"server 127.0.0.1:{at.licensing};"),
        ("server 127.0.0.1:8080;", f"server 127.0.0.1:{at.origin};"),
        ("listen 80;", f"listen 127.0.0.1:{at.port};"),
        (KEY, at.key),
    )
    folders = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{name}_temp_path {at.directory}/{name};\n" for name in folders)
    # The signal for all to end is the master's own; files lie in the test's directory.
    file = at.written(
        "nginx.conf",
        f"daemon off;\nmaster_process off;\npid {at.directory}/pid;\nerror_log {at.directory}/error.log;\n"
        f"events {{}}\nhttp {{ access_log off; {temporary} {text} }}\n",
    )
    return ["-c", file, "-p", str(at.directory)]


def caddy(at: Place) -> list[str]:
    text = at.filled_in(
        "Caddyfile",
        ("licensing:8000", f"127.0.0.1:{at.licensing}"),
        ("origin:8080", f"127.0.0.1:{at.origin}"),
        ("pub.example {", f"http://pub.example:{at.port} {{\n\tbind 127.0.0.1"),
        ("{env.LICENSING_KEY}", at.key),
    )
    file = at.written("Caddyfile", f"{{\n\tadmin off\n\tpersist_config off\n}}\n{text}")
    return ["run", "--config", file, "--adapter", "caddyfile"]


def traefik(at: Place) -> list[str]:
    text = at.filled_in(
        "traefik.yml",
        ("licensing:8000", f"127.0.0.1:{at.licensing}"),
        ("origin:8080", f"127.0.0.1:{at.origin}"),
        (KEY, at.key),
    )
    file = at.written("site.yml", text)
    return [
        f"--entrypoints.web.address=127.0.0.1:{at.port}", f"--providers.file.filename={file}",
        "--global.checknewversion=false", "--global.sendanonymoususage=false", "--log.level=ERROR",
    ]  # fmt: skip


def envoy(at: Place) -> list[str]:
    text = at.filled_in(
        "envoy.yaml",
        ("address: 0.0.0.0, port_value: 80}", f"address: 127.0.0.1, port_value: {at.port}}}"),
        ("address: licensing, port_value: 8000", f"address: 127.0.0.1, port_value: {at.licensing}"),
        ("address: origin, port_value: 8080", f"address: 127.0.0.1, port_value: {at.origin}"),
        (KEY, at.key),
    )
    file = at.written("envoy.yaml", text)
    return ["-c", file, "--concurrency", "1", "--disable-hot-restart", "--log-level", "error"]


@dataclass(frozen=True)
class Proxy:
    """`down` is what a visitor gets while the service is not there."""

    arguments: Callable[[Place], list[str]]
    down: int

    @property
    def name(self) -> str:
        return self.arguments.__name__

    @property
    def program(self) -> str | None:
        """From the environment (`NGINX` and the like), installed beside Python, or by the system."""
        beside = str(Path(sys.executable).parent)
        found = (shutil.which(self.name, path=path) for path in (beside, None, "/usr/sbin"))
        return os.environ.get(self.name.upper()) or next(filter(None, found), None)


PROXIES = [Proxy(nginx, 500), Proxy(caddy, 502), Proxy(traefik, 500), Proxy(envoy, 503)]


@pytest.fixture(params=PROXIES, ids=lambda proxy: proxy.name)
def proxy(request: pytest.FixtureRequest) -> Proxy:
    found: Proxy = request.param
    if found.program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"No test of {found.name} ran: it is not installed.")
    return found


@pytest.fixture
def site(server: Deployment, key: str) -> httpx.Client:
    """The API, with a site whose folders get each status."""
    api = httpx.Client(base_url=f"{server.url}/v1", headers={"Authorization": f"Bearer {key}"})
    rules = {
        "/open/": [READERS],
        "/licensed/": [NOBODY],
        "/searched/": [{**READERS, "permissions": ["search"]}],
        "/priced/": [PRICED],
        "/once/": [{**READERS, "rateLimit": {"requests": 1, "period": "day"}}],
    }
    policies = {
        folder: api.post("/policies", json={"name": folder, "rules": own}).json()["id"]
        for folder, own in rules.items()
    }
    told = [{"pattern": folder, "policyId": policy} for folder, policy in policies.items()]
    assert api.post("/sites", json={"host": "pub.example", "rules": told}).status_code == 201
    return api


@pytest.fixture
def visit(
    proxy: Proxy, server: Deployment, key: str, site: httpx.Client, origin: int, tmp_path: Path
) -> Iterator[httpx.Client]:
    """A visitor of pub.example behind the proxy."""
    at = Place(key, server.port, origin, free_port(), tmp_path)
    log = tmp_path / "output.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [proxy.program or "", *proxy.arguments(at)],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)},
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{at.port}", headers={"Host": "pub.example"}) as client:

            def answers() -> bool:
                assert process.poll() is None, log.read_text()
                with suppress(httpx.TransportError):
                    return client.get("/robots.txt").status_code == 200
                return False

            assert eventually(answers, 60), log.read_text()
            yield client
    finally:
        process.terminate()
        process.wait()


def test_visitors_get_the_status_of_the_decision(visit):
    assert visit.get("/open/a").status_code == 200
    assert visit.get("/about").status_code == 200
    assert visit.get("/licensed/a").status_code == 402
    assert visit.get("/searched/a").status_code == 403
    assert [visit.get("/once/a").status_code for _ in range(2)] == [200, 429]
    assert visit.get("/open/a", headers={"Authorization": "License nope"}).status_code == 401


def test_a_denial_has_a_body_for_the_visitor(visit, proxy):
    visit.get("/once/a")
    unknown = {"Authorization": "License nope"}
    denied = [visit.get(path) for path in ("/licensed/a", "/searched/a", "/once/a")]
    denied.append(visit.get("/open/a", headers=unknown))
    assert [reply.status_code for reply in denied] == [402, 403, 429, 401]
    if proxy.name == "nginx":  # which has pages of its own
        assert all(str(reply.status_code) in reply.text for reply in denied)
    else:
        assert all(reply.json()["error"]["message"] for reply in denied)
        assert denied[0].json()["error"]["message"] == "Not for you."


def test_a_denial_says_what_would_help(visit):
    licensed, too_often = visit.get("/licensed/a"), [visit.get("/once/a") for _ in range(2)][1]
    assert licensed.headers["Link"] == '<http://pub.example/license.xml>; rel="license"; type="application/rsl+xml"'
    assert licensed.headers["WWW-Authenticate"].startswith("License error=")
    assert visit.get("/priced/a").headers["crawler-price"] == "USD 0.01"
    assert int(too_often.headers["Retry-After"]) > 0


def test_no_spelling_of_a_page_is_a_way_around(visit):
    for path in ("//licensed/a", "/open/%2e%2e/licensed/a", "/%6cicensed/a", "/licensed%2Fa", "/licensed/a?x=/open/"):
        address = f"{str(visit.base_url).removesuffix('/')}{path}"  # joined by httpx, // would begin a host
        assert (path, visit.get(address).status_code) in ((path, 402), (path, 400))  # some refuse %2F


def test_the_origin_sees_what_was_decided_and_neither_forgeries_nor_the_key(visit, key):
    names = ("Decision", "Requester", "Id", "Status", "Reason", "Would")
    forged = {**{f"X-Access-{name}": "forged" for name in names}, "X-Licensing-Key": "forged",
              "X-Forwarded-Uri": "/open/a", "X-Forwarded-Host": "other.example"}  # fmt: skip
    seen = visit.get("/open/a", headers=forged).json()
    assert (seen["x-access-decision"], seen["x-access-requester"]) == ("allow", "anonymous")
    for path in ("/open/a", "/about", "/robots.txt"):
        seen = visit.get(path, headers=forged).json()
        access = {name: value for name, value in seen.items() if name.startswith("x-access-")}
        assert "forged" not in access.values()
        assert "x-licensing-key" not in seen
        assert key not in str(seen)
    assert visit.get("/licensed/a", headers=forged).status_code == 402


def test_the_terms_are_published_under_the_sites_host(visit):
    reply = visit.get("/license.xml")
    assert (reply.status_code, reply.headers["Content-Type"]) == (200, "application/rsl+xml")
    assert b"https://pub.example/licensed/" in reply.content
    assert visit.get("/.well-known/tdmrep.json").json()[-1] == {"location": "/", "tdm-reservation": 1}
    assert visit.get("/.well-known/tdm-policy.json").status_code == 404  # a licence opens no mining of these pages


def test_from_observing_to_enforcing(visit, site):
    [made] = site.get("/sites").json()["data"]
    site.patch(f"/sites/{made['id']}", json={"mode": "observe"})
    assert visit.get("/licensed/a").status_code == 200
    site.patch(f"/sites/{made['id']}", json={"mode": "enforce"})
    assert visit.get("/licensed/a").status_code == 402


def test_while_the_service_is_down_nothing_is_let_through(visit, proxy, server):
    server.kill()
    try:
        assert visit.get("/open/a").status_code == proxy.down
    finally:
        server.start()
