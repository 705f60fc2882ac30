"""nginx itself before an origin, by the file of deploy/edge: what visitors get, and what the origin sees.

Skipped, with a line that says so, where nginx is not installed; required in CI (.ci/run installs it).
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest

from run import ROOT
from tests.faults.harness import Deployment, eventually
from tests.services import free_port

NGINX = os.environ.get("NGINX") or shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
CONFIGURATION = ROOT / "deploy" / "edge" / "nginx.conf"
READERS = {"action": "allow", "conditions": {"default": True}, "permissions": ["read"]}
NOBODY = {"action": "deny", "conditions": {"default": True}, "message": "Not for you."}


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


def configured(key: str, licensing: int, origin: int, port: int, directory: Path) -> str:
    """The file as a publisher fills it in."""
    text = CONFIGURATION.read_text()
    for given, own in (
        ("server 127.0.0.1:8000;", f"server 127.0.0.1:{licensing};"),
        ("server 127.0.0.1:8080;", f"server 127.0.0.1:{origin};"),
        ("listen 80;", f"listen 127.0.0.1:{port};"),
        ("svc_sk_PUT-THE-KEY-HERE", key),
    ):
        assert given in text
        text = text.replace(given, own)
    temporary = "".join(
        f"{name}_temp_path {directory}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    # The signal for all to end is the master's own; files lie in the test's directory.
    return (
        f"daemon off;\nmaster_process off;\npid {directory}/pid;\nerror_log {directory}/error.log;\n"
        f"events {{}}\nhttp {{ access_log off; {temporary} {text} }}\n"
    )


@pytest.fixture
def site(server: Deployment, key: str) -> httpx.Client:
    """The API, with a site whose folders get each status."""
    api = httpx.Client(base_url=f"{server.url}/v1", headers={"Authorization": f"Bearer {key}"})
    rules = {
        "/open/": [READERS],
        "/licensed/": [NOBODY],
        "/searched/": [{**READERS, "permissions": ["search"]}],
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
def visit(server: Deployment, key: str, site: httpx.Client, origin: int, tmp_path: Path) -> Iterator[httpx.Client]:
    """A visitor of pub.example behind nginx."""
    if NGINX is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("No test of nginx ran: it is not installed.")
    port = free_port()
    file = tmp_path / "nginx.conf"
    file.write_text(configured(key, server.port, origin, port, tmp_path))
    process = subprocess.Popen([NGINX, "-c", str(file), "-p", str(tmp_path)], stderr=subprocess.DEVNULL)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"Host": "pub.example"}) as client:

            def answers() -> bool:
                assert process.poll() is None, (tmp_path / "error.log").read_text()
                with suppress(httpx.TransportError):
                    return client.get("/robots.txt").status_code > 0
                return False

            assert eventually(answers)
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


def test_a_denial_says_what_would_help(visit):
    licensed, too_often = visit.get("/licensed/a"), [visit.get("/once/a") for _ in range(2)][1]
    assert licensed.headers["Link"] == '<http://pub.example/license.xml>; rel="license"; type="application/rsl+xml"'
    assert licensed.headers["WWW-Authenticate"].startswith("License error=")
    assert int(too_often.headers["Retry-After"]) > 0


def test_no_spelling_of_a_page_is_a_way_around(visit):
    for path in ("//licensed/a", "/open/%2e%2e/licensed/a", "/%6cicensed/a", "/licensed%2Fa", "/licensed/a?x=/open/"):
        address = f"{str(visit.base_url).removesuffix('/')}{path}"  # joined by httpx, // would begin a host
        assert (path, visit.get(address).status_code) == (path, 402)


def test_the_origin_sees_what_was_decided_and_neither_forgeries_nor_the_key(visit, key):
    forged = {"X-Access-Decision": "forged", "X-Access-Requester": "forged", "X-Licensing-Key": "forged",
              "X-Forwarded-Uri": "/open/a", "X-Forwarded-Host": "other.example"}  # fmt: skip
    seen = visit.get("/open/a", headers=forged).json()
    assert (seen["x-access-decision"], seen["x-access-requester"]) == ("allow", "anonymous")
    assert "x-licensing-key" not in seen
    assert key not in str(seen)
    assert visit.get("/licensed/a", headers=forged).status_code == 402


def test_the_terms_are_published_under_the_sites_host(visit):
    reply = visit.get("/license.xml")
    assert (reply.status_code, reply.headers["Content-Type"]) == (200, "application/rsl+xml")
    assert b"https://pub.example/licensed/" in reply.content
    assert visit.get("/.well-known/tdmrep.json").json()[-1] == {"location": "/", "tdm-reservation": 1}


def test_from_observing_to_enforcing(visit, site):
    [made] = site.get("/sites").json()["data"]
    site.patch(f"/sites/{made['id']}", json={"mode": "observe"})
    assert visit.get("/licensed/a").status_code == 200
    site.patch(f"/sites/{made['id']}", json={"mode": "enforce"})
    assert visit.get("/licensed/a").status_code == 402


def test_while_the_service_is_down_nothing_is_let_through(visit, server):
    server.kill()
    try:
        assert visit.get("/open/a").status_code == 500
    finally:
        server.start()
