"""This service as a side of a measurement: an installation with its own database, account and key."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg

from benchmarks.harness import START_SECONDS, ServerProcess, Services, expect
from benchmarks.load import Side, post_script
from launcher.testing import SETTINGS
from run import ROOT
from tests.services import free_port

PER_MINUTE = PER_DAY = 2_000_000_000
CHECK = "/v1/access/check"
BULK = 500

ALLOW_LICENSED: dict[str, Any] = {
    "action": "allow",
    "priority": 1,
    "conditions": {"licenseType": ["commercial", "enterprise"], "hasValidLicense": True},
    "permissions": ["full_access"],
}
DENY_ALL: dict[str, Any] = {
    "action": "deny",
    "priority": 99,
    "conditions": {"default": True},
    "message": "A valid licence is required.",
}
LICENSED = {"id": "org_acme", "name": "Acme", "licenseType": "commercial", "hasValidLicense": True}
UNLICENSED = {"id": "org_acme", "name": "Acme"}


class Installation:
    """This service with its own database, account and key; uses SQLite without `services`.

    `checkout` is the code and `python` the interpreter that runs it.
    """

    def __init__(
        self,
        name: str,
        directory: Path,
        services: Services | None,
        *,
        workers: int = 1,
        checkout: Path = ROOT,
        python: str = sys.executable,
        **further: str,  # settings
    ) -> None:
        self.checkout, self.python = checkout, python
        self.name, self.directory, self.services = name, directory / name, services
        self.directory.mkdir()
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.database = services.database(name) if services else ""
        self.environment = {
            **{variable: value for variable, value in os.environ.items() if variable not in SETTINGS},
            "DATA_DIR": str(self.directory),
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "WORKERS": str(workers),
            "DATABASE_URL": self.database,
            "REDIS_URL": services.valkey.url if services else "",
            "DJANGO_SETTINGS_MODULE": "config.settings",
            **further,
        }
        command = [python, "manage.py", "serve"]
        self.server = ServerProcess(
            name, command, self.environment, f"{self.url}/readyz", self.directory / "server.log", checkout
        )

    def manage(self, *command: str, seconds: float = START_SECONDS) -> str:
        done = subprocess.run(
            [self.python, "manage.py", *command],
            cwd=self.checkout,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
        expect(done.returncode == 0, f"manage.py {command[0]} failed: {done.stderr}")
        return done.stdout

    def start(self) -> None:
        self.manage("migrate", "--verbosity", "0")
        self.account, key = self.account_with_key("Benchmark")
        self.headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self.server.start()
        self.client = httpx.Client(base_url=self.url, headers=self.headers, timeout=30)

    def account_with_key(self, name: str) -> tuple[str, str]:
        """Create an account that no limit stops. Return its id and its secret key."""
        limits = ["--requests-per-minute", str(PER_MINUTE), "--requests-per-day", str(PER_DAY)]
        account = self.made("create_account", name, "--plan", "enterprise", *limits)["id"]
        return account, self.made("create_api_key", "--account", account, "--name", name, "--type", "secret")["key"]

    def made(self, *command: str) -> dict[str, Any]:
        return json.loads(self.manage(*command, "--json").splitlines()[-1])

    def serve_instead(self, command: Sequence[str], **environment: str) -> None:
        """Serve another application on the same port and data."""
        self.server.stop()
        log = self.directory / "instead.log"
        ready = f"{self.url}/readyz"
        self.server = ServerProcess(self.name, command, {**self.environment, **environment}, ready, log)
        self.server.start()

    def stop(self) -> None:
        if hasattr(self, "client"):
            self.client.close()
        self.server.stop()

    # --- What is in it -----------------------------------------------------------------------------------------------

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        reply = self.client.post(path, json=body)
        expect(reply.status_code in (200, 201), f"{self.name}: {path} answers {reply.status_code}: {reply.text}")
        return reply.json()

    def policy(self, *rules: dict[str, Any]) -> str:
        return self.post("/v1/policies", {"name": "Benchmark", "rules": list(rules)})["id"]

    def items(self, policy: str, count: int = 1) -> list[str]:
        return [self.post("/v1/content", {"title": f"Item {n}", "policyId": policy})["id"] for n in range(count)]

    def many_items(self, policies: Iterable[str]) -> list[str]:
        """Create an item under each of the policies, by bulk requests, and return the ids."""
        rows = [{"title": f"Item {n}", "policyId": policy} for n, policy in enumerate(policies)]
        made: list[dict[str, Any]] = []
        for first in range(0, len(rows), BULK):
            made += self.post("/v1/content/bulk", {"items": rows[first : first + BULK]})["data"]
        return [row["content"]["id"] for row in made]

    def side(self, name: str, script: Path, path: str = CHECK, **options: Any) -> Side:
        storage = self.services.pids if self.services else ()
        return Side(name, f"{self.url}{path}", script, (self.server,), storage, **options)

    def expect_decisions(self, item: str, allowed: dict[str, Any], denied: dict[str, Any]) -> None:
        """Verify an allowed and a denied check."""
        for requester, wanted in ((allowed, True), (denied, False)):
            reply = self.post(CHECK, {"contentId": item, "requester": requester})
            expect(reply["allowed"] is wanted, f"{self.name} answers {reply}")

    def rows(self) -> int:
        """Return the number of decisions in the database, bypassing the service."""
        query = "SELECT count(*) FROM analytics_accessevent"
        if self.services:
            with psycopg.connect(self.database) as connection:
                return connection.execute(query).fetchone()[0]  # type: ignore[index]
        database = sqlite3.connect(f"file:{self.directory / 'db.sqlite3'}?mode=ro", uri=True)
        try:
            return database.execute(query).fetchone()[0]
        finally:
            database.close()

    def settled_rows(self) -> int:
        """Return the number of decisions once it no longer grows."""
        rows = -1
        while rows != (rows := self.rows()):
            time.sleep(0.3)
        return rows

    def total_requests(self, items: Sequence[str]) -> int:
        """Return the service's own count of requests for these items."""
        return sum(self.client.get(f"/v1/content/{item}").json()["stats"]["totalRequests"] for item in items)

    def expect_all_stored(
        self, side: Side, before: int, body: str, items: Sequence[str] | None = None, burst: int = 200
    ) -> None:
        """Verify that every answer was recorded exactly once.

        wrk drops its connections at the end of a run, each with up to one unread answer. So the check allows a range
        for the runs, and requires equality for a burst of checks that all are read. `items` lists all checked items.
        """
        stored = self.settled_rows() - before
        least = side.answered * side.unit
        most = least + side.cut_off * side.unit
        expect(least <= stored <= most, f"{self.name}: {least:,} to {most:,} decisions answered, {stored:,} stored")
        before = self.rows()
        with ThreadPoolExecutor(8) as pool:
            statuses = list(pool.map(lambda _: self.client.post(side.url, content=body).status_code, range(burst)))
        answered, stored = statuses.count(200) * side.unit, self.rows() - before
        expect(answered == stored, f"{self.name}: {answered} decisions answered, {stored} stored")
        if items is not None:
            rows, told = self.rows(), self.total_requests(items)
            expect(rows == told, f"{self.name}: {rows:,} decisions stored, stats tell of {told:,}")


def installed(stack: ExitStack, *arguments: Any, **options: Any) -> Installation:
    """Start an installation, which stops when the stack closes."""
    installation = Installation(*arguments, **options)
    stack.callback(installation.stop)
    installation.start()
    return installation


@dataclass
class Ours:
    """This service as a side of a measurement, with checks of what it stored."""

    installation: Installation
    items: list[str] | None  # None: the side keeps no totals
    body: str
    side: Side
    rows_before: int

    def expect_all_stored(self) -> None:
        self.installation.expect_all_stored(self.side, self.rows_before, self.body, self.items)


def create_side(made: Installation, name: str, items: list[str], *, totals: bool = True) -> Ours:
    """Verify a decision and return the installation as a side; `totals`: whether it stores totals."""
    made.expect_decisions(items[0], LICENSED, UNLICENSED)
    body = json.dumps({"contentId": items[0], "requester": LICENSED, "permission": "commercial_use"})
    script = post_script(made.directory / "load.lua", made.headers, body)
    return Ours(made, items if totals else None, body, made.side(name, script), made.rows())
