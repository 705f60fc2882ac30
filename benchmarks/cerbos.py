"""Cerbos as a side: its npm package, the policy of the basic example, and its decision log in a file."""

import json
import os
import shutil
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx

from benchmarks.harness import ServerProcess, expect
from benchmarks.load import Side, post_script
from benchmarks.ours import LICENSED, UNLICENSED
from run import ROOT
from tests.services import free_port

LOG_SECONDS = 10
# Cerbos denies what no rule allows, so the catch-all of the example is not needed; a deny rule would win over all.
POLICY = {
    "apiVersion": "api.cerbos.dev/v1",
    "resourcePolicy": {
        "resource": "content",
        "version": "default",
        "rules": [
            {
                "name": "licensed",
                "actions": ["*"],
                "effect": "EFFECT_ALLOW",
                "roles": ["*"],
                "condition": {
                    "match": {
                        "all": {
                            "of": [
                                {"expr": 'P.attr.licenseType in ["commercial", "enterprise"]'},
                                {"expr": "P.attr.hasValidLicense == true"},
                            ]
                        }
                    }
                },
            }
        ],
    },
}


def binary(given: str | None) -> str:
    """The server itself, also where the npm package's starter is named: a Node process is no part of it."""
    found = given or os.environ.get("CERBOS") or shutil.which("cerbos")
    path = Path(found) if found else ROOT / "node_modules" / ".bin" / "cerbos"
    if not path.exists():
        sys.exit("Cerbos was not found. Install it with `npm install cerbos` and name it by --cerbos PATH or CERBOS.")
    real = path.resolve()
    return str(next(real.parent.parent.glob("@cerbos/cerbos-*/cerbos-*"), real))


class Cerbos:
    def __init__(self, name: str, directory: Path, command: str, variables: dict[str, str]) -> None:
        self.name, self.directory = name, directory / "".join(character for character in name if character.isalnum())
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/api/check/resources"
        self.log = self.directory / "decisions.log"
        policies = self.directory / "policies"
        policies.mkdir(parents=True)
        (policies / "content.json").write_text(json.dumps(POLICY))
        settings: dict[str, Any] = {
            "server": {"httpListenAddr": f"127.0.0.1:{self.port}", "grpcListenAddr": f"127.0.0.1:{free_port()}"},
            "storage": {"driver": "disk", "disk": {"directory": str(policies), "watchForChanges": False}},
            "audit": {
                "enabled": True,
                "backend": "file",
                "accessLogsEnabled": False,
                "decisionLogsEnabled": True,
                "file": {"path": str(self.log)},
            },
            "telemetry": {"disabled": True},
        }
        (self.directory / "config.json").write_text(json.dumps(settings))
        self.server = ServerProcess(
            name,
            [command, "server", f"--config={self.directory / 'config.json'}", "--log-level=warn"],
            {**os.environ, **variables},
            f"http://127.0.0.1:{self.port}/_cerbos/health",
            self.directory / "server.log",
        )

    def body(self, items: list[str], requester: dict[str, Any]) -> str:
        attributes = {name: requester[name] for name in ("licenseType", "hasValidLicense") if name in requester}
        return json.dumps(
            {
                "requestId": "benchmark",
                "principal": {"id": requester["id"], "roles": ["requester"], "attr": attributes},
                "resources": [
                    {"actions": ["commercial_use"], "resource": {"kind": "content", "id": item}} for item in items
                ],
            }
        )

    def expect_decisions(self, items: list[str]) -> None:
        for requester, wanted in ((LICENSED, "EFFECT_ALLOW"), (UNLICENSED, "EFFECT_DENY")):
            before = self.log_size()
            reply = httpx.post(self.url, content=self.body(items, requester), timeout=10)
            effects = [result["actions"]["commercial_use"] for result in reply.json().get("results", [])]
            expect(effects == [wanted] * len(items), f"{self.name} answers {reply.text}")
            expect(self.has_logged_since(before), f"{self.name} did not log its decision")

    def log_size(self) -> int:
        return self.log.stat().st_size if self.log.exists() else 0

    def has_logged_since(self, size: int) -> bool:
        """It writes its log some time after its answer."""
        deadline = time.monotonic() + LOG_SECONDS
        while self.log_size() <= size and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.log_size() > size


def cerbos_side(
    stack: ExitStack, name: str, directory: Path, command: str, items: list[str], **variables: str
) -> Side:
    """Cerbos, started and seen to decide rightly about these items in one request."""
    cerbos = Cerbos(name, directory, command, variables)
    stack.callback(cerbos.server.stop)
    cerbos.server.start()
    cerbos.expect_decisions(items)
    script = post_script(
        cerbos.directory / "load.lua", {"Content-Type": "application/json"}, cerbos.body(items, LICENSED)
    )
    return Side(name, cerbos.url, script, (cerbos.server.pid,), unit=len(items))
