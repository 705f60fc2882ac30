"""A relay to the service whose replies are those of a later version: with more fields, and other values."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx
import pytest

from tests.faults.harness import Deployment
from tests.served import Service

# Their names are the publisher's; and a client that does not know all of a rule must not write it back.
KEPT = ("metadata", "byLicenseType", "rules")
OF_THE_CONNECTION = ("host", "accept-encoding", "content-length")
REASON, STATUS, ERROR_TYPE = "added_later", "frozen", "later_error"


def without_later(value: Any) -> Any:
    """Return a request's JSON without the fields that only the later version knows."""
    if isinstance(value, list):
        return [without_later(member) for member in value]
    if not isinstance(value, dict):
        return value
    return {name: without_later(member) for name, member in value.items() if name != "addedLater"}


def later(value: Any) -> Any:
    """Return a reply's JSON with a new field in each object, and new values of open enumerations."""
    if isinstance(value, list):
        return [later(member) for member in value]
    if not isinstance(value, dict):
        return value
    changed = {name: member if name in KEPT else later(member) for name, member in value.items()}
    if changed.get("reason"):
        changed["reason"] = REASON
    if changed.get("object") == "content":
        changed["status"] = STATUS
    if "docUrl" in changed:
        changed["type"] = ERROR_TYPE
    return {**changed, "addedLater": {"since": 2}}


@contextmanager
def later_service(url: str) -> Iterator[str]:
    """Yield the address of a relay to the service at `url`."""

    class Relay(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if body:
                body = json.dumps(without_later(json.loads(body))).encode()
            headers = {name: text for name, text in self.headers.items() if name.lower() not in OF_THE_CONNECTION}
            reply = httpx.request(self.command, f"{url}{self.path}", content=body, headers=headers, trust_env=False)
            content = reply.content
            if reply.headers["Content-Type"].startswith("application/json"):
                content = json.dumps(later(reply.json())).encode()
            self.send_response(reply.status_code)
            self.send_header("Content-Type", reply.headers["Content-Type"])
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_PATCH = do_DELETE = do_GET

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Relay) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def later_version(running: Deployment) -> Iterator[Service]:
    """A later version of the service, with an account of its own."""
    [(account, key, _)] = running.ask_shell("accounts", 1)
    with later_service(running.url) as url:
        yield Service(url, account, key)


def assert_is_understood(saw: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare what a client's story saw of a later version."""
    known = ("allowed", "total", "found", "missing")
    assert {name: saw[name] for name in known} == {name: expected[name] for name in known}
    assert saw["denied"] == [False, REASON]
