"""A site at its limits, hostile URLs and requests for its documents keep no other account waiting.

The tests count answers, because times depend on the machine: while the other account gets its answers, the hostile one
gets only a few.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import httpx
import pytest

from licensing.sites.patterns import MAX_CHARACTERS, MAX_WILDCARDS
from licensing.sites.serializers import MAX_RULES
from tests.faults.harness import Deployment

pytestmark = pytest.mark.faults

CLIENTS = 8  # that ask for hostile pages at once
VISITS = 30  # of the other account's pages
MOST_AT_ONCE = 6  # hostile answers while the other account waits for one; all 8, if it waited in their batch
HOSTILE, FRIENDLY = "hostile.example", "friendly.example"


@pytest.fixture(scope="module")
def sites(deployment: Deployment) -> dict[str, str]:
    """The keys of the sites' accounts by host. The hostile site has the most patterns, wildcards and characters."""
    deployment.start()
    (hostile, _), (friendly, _) = deployment.accounts(2)
    length = MAX_CHARACTERS // MAX_RULES - 6
    pattern = "/" + "*a" * (MAX_WILDCARDS - 1) + "*"
    patterns = {HOSTILE: [f"{pattern}{number:03}".ljust(length, "a") for number in range(MAX_RULES)],
                FRIENDLY: ["/premium/*"]}  # fmt: skip
    keys = {HOSTILE: hostile, FRIENDLY: friendly}
    for host, key in keys.items():
        with deployment.client(key) as client:
            policy = client.policy({"action": "allow", "conditions": {"default": True}})
            rules = [{"pattern": pattern, "policyId": policy} for pattern in patterns[host]]
            client.create("/v1/sites", host=host, mode="enforce", rules=rules)
    return keys


def visit(client: httpx.Client, key: str, host: str, path: str) -> int:
    headers = {"X-Licensing-Key": key, "X-Licensing-Url": f"https://{host}{path}", "X-Licensing-Method": "GET"}
    return client.get("/v1/access/middleware", headers=headers).status_code


class Hostile:
    """Clients that ask the server over and over, until they are stopped. `answers` counts what they got."""

    def __init__(self, server: Deployment, key: str) -> None:
        self.server, self.key = server, key
        self.answers: list[int] = []
        self.stopped, self.numbers = Event(), itertools.count()

    def ask(self) -> None:
        with httpx.Client(base_url=self.server.url, timeout=60) as client:
            while not self.stopped.is_set():
                path = f"/{'a' * 1_500}{next(self.numbers)};x/..;/b/%252e%252e/%2561;y"
                self.answers.append(visit(client, self.key, HOSTILE, path))

    def ask_for_documents(self) -> None:
        with httpx.Client(base_url=self.server.url, timeout=60) as client:
            while not self.stopped.is_set():
                for path in ("/license.xml", "/robots.txt", "/.well-known/tdmrep.json"):
                    self.answers.append(client.get(path, headers={"Host": HOSTILE}).status_code)


@pytest.fixture
def hostile(server: Deployment, sites: dict[str, str]) -> Hostile:
    return Hostile(server, sites[HOSTILE])


def test_visitors_of_another_site_do_not_wait_for_hostile_pages(server, sites, hostile):
    with ThreadPoolExecutor(CLIENTS) as executor, httpx.Client(base_url=server.url, timeout=60) as client:
        asking = [executor.submit(hostile.ask) for _ in range(CLIENTS)]
        try:
            assert visit(client, sites[FRIENDLY], FRIENDLY, "/premium/first") == 200
            before = len(hostile.answers)
            statuses = {visit(client, sites[FRIENDLY], FRIENDLY, f"/premium/{number};x") for number in range(VISITS)}
            answered = len(hostile.answers) - before
        finally:
            hostile.stopped.set()
    for one in asking:
        one.result()
    assert statuses == {200}
    assert answered <= MOST_AT_ONCE * VISITS
    assert set(hostile.answers) <= {200, 403}


def test_other_accounts_have_threads_while_documents_are_asked_for_and_change(server, sites, hostile):
    with ThreadPoolExecutor(CLIENTS) as executor, server.client(sites[FRIENDLY]) as client:
        asking = [executor.submit(hostile.ask_for_documents) for _ in range(CLIENTS)]
        try:
            with server.client(sites[HOSTILE]) as owner:
                [site] = owner.get("/v1/sites").json()["data"]
                statuses = set()
                for number in range(VISITS):
                    changed = owner.patch(f"/v1/sites/{site['id']}", json={"name": f"Site {number}"})
                    assert changed.status_code == 200
                    statuses.add(client.get("/v1/content").status_code)
        finally:
            hostile.stopped.set()
    for one in asking:
        one.result()
    assert statuses == {200}
    assert set(hostile.answers) == {200}
