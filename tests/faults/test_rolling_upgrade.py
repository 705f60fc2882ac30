"""The previous version serves next to this one during an upgrade, and again after going back. No request fails.

UPGRADE_SECONDS sets how long each of the steps is under load.
"""

import os
import subprocess
import tarfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from io import BytesIO
from itertools import count
from pathlib import Path

import httpx
import pytest

from run import ROOT
from tests.factories import ALLOW_ALL
from tests.faults.harness import Deployment
from tests.services import Postgres, Valkey, postgres, valkey

PREVIOUS = "8149a8a8"  # the previous release; a commit with fewer tables until one follows 0.2.0
SECONDS = float(os.environ.get("UPGRADE_SECONDS") or 0)  # of each step, beside the least number of requests
CLIENTS = 3


def has_previous() -> bool:
    git = ["git", "cat-file", "-e", f"{PREVIOUS}:manage.py"]
    with suppress(OSError):
        return subprocess.run(git, cwd=ROOT, capture_output=True, check=False).returncode == 0
    return False


pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not has_previous(), reason=f"needs git with the history up to {PREVIOUS}"),
]


class Load:
    """Requests of all kinds, sent to the deployments that are in service. An acknowledged check is counted."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.in_service: list[Deployment] = []
        self.lock = threading.Condition()
        self.active: Counter[int] = Counter()  # requests under way, by port
        self.statuses: Counter[tuple[str, int]] = Counter()
        self.bodies: list[str] = []
        self.acknowledged = 0
        self.served: Counter[int] = Counter()  # requests answered, by port
        self.ended = threading.Event()
        self.numbers = count()

    @contextmanager
    def one(self) -> Iterator[Deployment]:
        """A deployment in service; its removal waits until the block ends."""
        with self.lock:
            server = self.in_service[next(self.numbers) % len(self.in_service)]
            self.active[server.port] += 1
        try:
            yield server
        finally:
            with self.lock:
                self.active[server.port] -= 1
                self.served[server.port] += 1
                self.lock.notify_all()

    def add(self, server: Deployment) -> None:
        with self.lock:
            self.in_service.append(server)

    def remove(self, server: Deployment) -> None:
        """Take a deployment out of service, as a load balancer does, and wait for its requests."""
        with self.lock:
            self.in_service.remove(server)
            assert self.lock.wait_for(lambda: not self.active[server.port], 60)

    def ask(self, client: httpx.Client, method: str, path: str, **options: object) -> httpx.Response:
        with self.one() as server:
            reply = client.request(method, server.url + path, **options)  # type: ignore[arg-type]
        name = f"{method} {path.partition('?')[0]}"
        with self.lock:
            self.statuses[name, reply.status_code] += 1
            if reply.status_code >= 500:
                self.bodies.append(f"{server.checkout.name} {name}: {reply.text}")
            if path == "/v1/access/check" and reply.status_code == 200:
                self.acknowledged += 1
        return reply

    def go_on(self) -> None:
        """Wait until each deployment in service has answered more requests, and for SECONDS."""
        with self.lock:
            goals = {server.port: self.served[server.port] + 30 for server in self.in_service}
            assert self.lock.wait_for(lambda: all(self.served[port] > goal for port, goal in goals.items()), 120)
        time.sleep(SECONDS)

    def run(self, name: str) -> None:
        headers = {"Authorization": f"Bearer {self.key}"}
        with httpx.Client(headers=headers, trust_env=False, timeout=60) as client:
            policy = self.ask(client, "POST", "/v1/policies", json={"name": name, "rules": [ALLOW_ALL]}).json()["id"]
            while not self.ended.is_set():
                number = next(self.numbers)
                item = {"title": "Item", "externalId": f"{name}-{number}", "policyId": policy}
                content = self.ask(client, "POST", "/v1/content", json=item).json()["id"]
                check = {"contentId": content, "requester": f"org_{number % 20}"}
                self.ask(client, "POST", "/v1/access/check", json=check)
                again = {"Idempotency-Key": f"{name}-{number}"}
                self.ask(client, "POST", "/v1/access/check", json=check, headers=again)
                license = {"requesterId": f"org_{number % 20}", "licenseType": "basic", "contentIds": [content]}  # noqa: A001
                self.ask(client, "POST", "/v1/licenses", json=license)
                self.ask(client, "PATCH", f"/v1/content/{content}", json={"title": "Changed"})
                for path in READ:
                    self.ask(client, "GET", path)


READ = [
    "/v1/access/decisions?limit=5",
    "/v1/content?limit=5",
    "/v1/licenses?limit=5",
    "/v1/statements?limit=5",
    "/v1/analytics/usage",
    "/v1/audit?limit=5",
]


@contextmanager
def under(load: Load) -> Iterator[None]:
    with ThreadPoolExecutor(CLIENTS) as threads:
        running = [threads.submit(load.run, f"client{number}") for number in range(CLIENTS)]
        try:
            yield
        finally:
            load.ended.set()
        for one in running:
            one.result()


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code of the previous version."""
    checkout = tmp_path_factory.mktemp("previous")
    packed = subprocess.run(["git", "archive", PREVIOUS], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(checkout, filter="data")
    return checkout


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[Postgres, Valkey]]:
    with postgres(fsync=False) as database, valkey() as counters:
        yield database, counters


def migrate(server: Deployment) -> None:
    done = server.python("manage.py", "migrate", "--verbosity", "0")
    assert done.returncode == 0, done.stderr


def test_an_upgrade_and_the_way_back_fail_no_request(previous: Path, servers: tuple[Postgres, Valkey], tmp_path: Path):
    database, counters = servers
    secrets = {"SECRET_KEY": "s" * 60}
    with ExitStack() as stack:

        def deployment(name: str, checkout: Path) -> Deployment:
            (tmp_path / name).mkdir()
            made = Deployment(tmp_path / name, postgres=database, valkey=counters, checkout=checkout, **secrets)
            stack.callback(made.close)
            return made

        old, new = deployment("old", previous), deployment("new", ROOT)
        migrate(old)
        [(key, _)] = old.accounts(1)
        load = Load(key)
        old.start()
        load.add(old)
        before = len(applied(old))
        with under(load):
            load.go_on()
            migrate(new)
            load.go_on()  # the previous version on the new tables
            new.start()
            load.add(new)
            load.go_on()  # both
            load.remove(old)
            old.kill()
            load.go_on()
            old.start()
            load.add(old)
            load.go_on()  # both again
            load.remove(new)
            new.kill()
            load.go_on()  # the way back
        assert len(applied(old)) > before
        assert load.served.keys() == {old.port, new.port}
        assert not load.bodies, "\n".join(sorted(set(load.bodies)))
        assert {status // 100 for _, status in load.statuses} == {2}, load.statuses
        assert old.rows("SELECT count(*) FROM analytics_accessevent") == [(load.acknowledged,)]


def applied(server: Deployment) -> list[tuple[object, ...]]:
    return server.rows("SELECT app, name FROM django_migrations")
