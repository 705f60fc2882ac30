"""Cerbos as a side: its npm package, with the same policies and its decision log in a file."""

import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx

from benchmarks.harness import ServerProcess, expect
from benchmarks.load import Side, raw_posts
from benchmarks.traffic import MIXED, Question, bodies_script, is_allowed, kind_of, questions
from run import ROOT
from tests.services import free_port

LOG_SECONDS = 10
NO_LICENSE = {"licenseType": "", "hasValidLicense": False}


def rule(name: str, effect: str, actions: list[str], *all_of: str) -> dict[str, Any]:
    of = [{"expr": expression} for expression in all_of]
    return {
        "name": name,
        "actions": actions,
        "effect": f"EFFECT_{effect}",
        "roles": ["*"],
        "condition": {"match": {"all": {"of": of}}},
    }


HAS_LICENSE = "P.attr.hasValidLicense == true"
# The three policies of benchmarks.traffic, a kind of resource for each. Cerbos denies what no rule allows, so no
# catch-all is needed, and a deny rule wins over all.
POLICIES = {
    "licensed": [rule("licensed", "ALLOW", ["*"], 'P.attr.licenseType in ["commercial", "enterprise"]', HAS_LICENSE)],
    "readers": [rule("readers", "ALLOW", ["read", "search"], HAS_LICENSE)],
    "tiers": [
        rule("no-training-on-trial", "DENY", ["ai_training"], 'P.attr.licenseType == "trial"'),
        rule("enterprise", "ALLOW", ["*"], 'P.attr.licenseType == "enterprise"', HAS_LICENSE),
        rule("reading", "ALLOW", ["read"], HAS_LICENSE),
    ],
}


def binary(given: str | None) -> str:
    """Return the server's binary, even if given the npm package's Node launcher."""
    found = given or os.environ.get("CERBOS") or shutil.which("cerbos")
    installed = (ROOT / "node_modules").glob("@cerbos/cerbos-*/cerbos-*")
    path = Path(found) if found else next(installed, ROOT / "node_modules" / ".bin" / "cerbos")
    if not path.exists():
        sys.exit(
            "Cerbos was not found. Install it with `npm install @cerbos/cerbos-linux-x64`, and name its binary by "
            "--cerbos PATH or CERBOS."
        )
    real = path.resolve()
    return str(next(real.parent.parent.glob("@cerbos/cerbos-*/cerbos-*"), real))


class Cerbos:
    def __init__(self, name: str, directory: Path, command: str, load: str, variables: dict[str, str]) -> None:
        self.load = load
        self.name, self.directory = name, directory / "".join(character for character in name if character.isalnum())
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/api/check/resources"
        self.log = self.directory / "decisions.log"
        policies = self.directory / "policies"
        policies.mkdir(parents=True)
        for kind, rules in POLICIES.items():
            policy = {"resource": kind, "version": "default", "rules": rules}
            document = {"apiVersion": "api.cerbos.dev/v1", "resourcePolicy": policy}
            (policies / f"{kind}.json").write_text(json.dumps(document))
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

    def body(self, question: Question) -> str:
        attributes = {name: question.requester.get(name, default) for name, default in NO_LICENSE.items()}
        resources = [
            {"actions": [question.permission], "resource": {"kind": kind_of(item, self.load), "id": f"cnt_{item}"}}
            for item in question.items
        ]
        principal = {"id": question.requester["id"], "roles": ["requester"], "attr": attributes}
        return json.dumps({"requestId": "benchmark", "principal": principal, "resources": resources})

    def expect_decisions(self, asked: Sequence[Question]) -> None:
        for question in asked:
            before = self.log_size()
            reply = httpx.post(self.url, content=self.body(question), timeout=10)
            effects = [result["actions"][question.permission] for result in reply.json().get("results", [])]
            wanted = [
                "EFFECT_ALLOW" if is_allowed(item, question, self.load) else "EFFECT_DENY" for item in question.items
            ]
            expect(effects == wanted, f"{self.name} answers {reply.text}")
        expect(self.has_logged_since(before), f"{self.name} did not log its decision")

    def log_size(self) -> int:
        return self.log.stat().st_size if self.log.exists() else 0

    def has_logged_since(self, size: int) -> bool:
        """Wait for the log to grow, and return whether it did. Cerbos logs some time after its answer."""
        deadline = time.monotonic() + LOG_SECONDS
        while self.log_size() <= size and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.log_size() > size


def cerbos_side(
    stack: ExitStack, name: str, directory: Path, command: str, size: int = 1, load: str = MIXED, **variables: str
) -> Side:
    """Start Cerbos with the traffic of benchmarks.traffic, and verify a sample of its answers."""
    cerbos = Cerbos(name, directory, command, load, variables)
    stack.callback(cerbos.server.stop)
    cerbos.server.start()
    cerbos.expect_decisions(questions(size, load)[:100])
    bodies = [cerbos.body(question) for question in questions(size, load)]
    headers = {"Content-Type": "application/json"}
    script = bodies_script(cerbos.directory / "load.lua", headers, bodies)
    return Side(name, cerbos.url, script, (cerbos.server,), unit=size, posts=raw_posts(cerbos.url, headers, bodies))
