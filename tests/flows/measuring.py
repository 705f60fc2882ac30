"""The flows: real requests to a profiled server, each with what it enters."""

import json
import os
import re
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings

from tests.faults.harness import Deployment
from tests.served import database_on_postgresql
from tests.services import free_port

REQUESTER = {"id": "org_acme", "name": "Acme", "licenseType": "commercial", "hasValidLicense": True}
ALLOW = {"action": "allow", "priority": 1, "conditions": {"hasValidLicense": True}, "permissions": ["read"]}
PAID_LICENSE = {
    "requesterId": "org_byron",
    "licenseType": "commercial",
    "pricePerAccess": {"amount": 0.05, "currency": "EUR"},
}
READS = {"GET item": "/v1/content/{}", "list of content": "/v1/content", "list of decisions": "/v1/access/decisions"}
BATCH = 50


class Flow(NamedTuple):
    """What a request entered: each call of a function of the product, as (file, function), in order."""

    calls: list[tuple[str, str]]

    @property
    def files(self) -> int:
        return len({file for file, _ in self.calls})

    @property
    def functions(self) -> int:
        return len(set(self.calls))

    @property
    def moves(self) -> int:
        """How often one file's function follows another file's."""
        names = [file for file, _ in self.calls]
        return sum(before != after for before, after in pairwise(names))


class Profiled:
    """A profiled server, and a connection to it that sends each request in one packet, as most clients do."""

    def __init__(self, server: Deployment, control_port: int, key: str) -> None:
        self.key = key
        self.control = socket.create_connection(("127.0.0.1", control_port)).makefile("rw")
        self.connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        self.replies = self.connection.makefile("rb")

    def close(self) -> None:
        self.control.close()
        self.replies.close()
        self.connection.close()

    def command(self, name: str) -> str:
        self.control.write(f"{name}\n")
        self.control.flush()
        return self.control.readline()

    def request(self, method: str, path: str, body: Any = None) -> Any:
        content = b"" if body is None else json.dumps(body).encode()
        lines = [
            f"{method} {path} HTTP/1.1",
            "Host: localhost",
            f"Authorization: Bearer {self.key}",
            "Content-Type: application/json",
            f"Content-Length: {len(content)}",
        ]
        self.connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + content)
        head = b"".join(iter(self.replies.readline, b"\r\n"))
        reply = self.replies.read(int(re.findall(rb"(?i)content-length: (\d+)", head)[0]))
        assert head.split()[1] in (b"200", b"201"), f"{method} {path} answers {head!r} {reply!r}"
        return json.loads(reply)

    def flow(self, method: str, path: str, body: Any = None) -> Flow:
        """Return what this request enters."""
        self.command("begin")
        self.request(method, path, body)
        return Flow([(file, function) for file, function in json.loads(self.command("end"))])


@contextmanager
def profiled() -> Iterator[Profiled]:
    """Run a profiled server on a database of its own."""
    control_port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)  # the server has no privileges
        with database_on_postgresql(f"flows_{os.getpid()}") as url:
            server = Deployment(Path(directory), DATABASE_URL=url, REDIS_URL=settings.REDIS_URL)
            try:
                server.start(("-m", "tests.flows.server", str(control_port)))
                [(_, key, _)] = server.ask_shell("accounts", 1)
                client = Profiled(server, control_port, key)
                yield client
                client.close()
            finally:
                server.close()


def measure(client: Profiled) -> Mapping[str, Flow]:
    """Return the flow of each kind of request, with everything cached that a process caches."""
    request, flow = client.request, client.flow
    policy = request("POST", "/v1/policies", {"name": "Policy", "rules": [ALLOW]})
    rows = [{"title": f"Item {number}", "policyId": policy["id"]} for number in range(BATCH)]
    items = [row["content"]["id"] for row in request("POST", "/v1/content/bulk", {"items": rows})["data"]]
    check = {"contentId": items[0], "requester": REQUESTER, "permission": "read"}
    batch = {"requester": REQUESTER, "permission": "read", "checks": [{"contentId": item} for item in items]}
    flows = {}

    for _ in range(3):  # the statement is prepared on each of the connections
        request("POST", "/v1/access/check", check)
    flows["cached check"] = flow("POST", "/v1/access/check", check)
    flows["cold check"] = flow("POST", "/v1/access/check", {**check, "contentId": items[1]})

    request("POST", "/v1/access/check/batch", batch)
    flows["batch of 50"] = flow("POST", "/v1/access/check/batch", batch)

    for name, template in READS.items():
        path = template.format(items[0])
        request("GET", path)
        flows[name] = flow("GET", path)

    path = f"/v1/policies/{policy['id']}"
    request("PATCH", path, {"rules": [{**ALLOW, "permissions": ["read", "cite"]}]})
    request("POST", "/v1/access/check", check)
    flows["PATCH policy"] = flow("PATCH", path, {"rules": [{**ALLOW, "permissions": ["read", "search"]}]})
    flows["check after PATCH"] = flow("POST", "/v1/access/check", check)

    request("POST", "/v1/licenses", PAID_LICENSE)
    decisions = [request("POST", "/v1/access/check", {**check, "requester": "org_byron"})["id"] for _ in range(2)]
    request("POST", "/v1/refunds", {"decisionId": decisions[0]})
    flows["refund"] = flow("POST", "/v1/refunds", {"decisionId": decisions[1]})
    return flows


def as_table(flows: Mapping[str, Flow]) -> str:
    lines = [f"{'request':<20}{'files':>8}{'functions':>12}{'calls':>8}{'moves':>8}"]
    for name, flow in flows.items():
        lines.append(f"{name:<20}{flow.files:>8}{flow.functions:>12}{len(flow.calls):>8}{flow.moves:>8}")
    return "\n".join(lines)
