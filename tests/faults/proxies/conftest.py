"""A publisher's site behind each proxy, configured by the files in deploy/edge.

Proxies that are not installed are skipped, with a reason; in CI all of them are required (.ci/run installs them).
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.factories import LICENSED
from tests.faults.harness import Deployment
from tests.faults.proxies.origin import serving
from tests.faults.proxies.programs import HOST, PROXIES, Place, Proxy, running
from tests.services import free_port

READERS = {"action": "allow", "conditions": {"default": True}, "permissions": ["read"]}
LICENSEES = LICENSED
NOBODY = {"action": "deny", "conditions": {"default": True}, "message": "Not for you."}
FIVE_A_MONTH = {**READERS, "rateLimit": {"requests": 5, "period": "month", "per": "visitor"}}
PRICED = {**READERS, "pricePerAccess": {"amount": "0.01", "currency": "USD"}}
FOLDERS: dict[str, list[dict[str, Any]]] = {
    "/open/": [READERS],
    "/assets/": [NOBODY],
    "/licensed/": [{**LICENSEES, "priority": 1}, NOBODY],
    "/searched/": [{**READERS, "permissions": ["search"]}],
    "/priced/": [PRICED],
    **{f"/metered/{proxy.name}/": [FIVE_A_MONTH] for proxy in PROXIES},
    **{f"/paged/{proxy.name}/": [{**READERS, "rateLimit": {"requests": 1, "period": "day"}}] for proxy in PROXIES},
    **{f"/once/{proxy.name}/": [{**READERS, "rateLimit": {"requests": 1, "period": "day"}}] for proxy in PROXIES},
}


@pytest.fixture(scope="session")
def origin() -> Iterator[int]:
    with serving() as port:
        yield port


@dataclass(frozen=True)
class Publisher:
    """An account with a site whose folders have the policies of FOLDERS; `key` has all permissions."""

    key: str
    edge_key: str
    site_id: str
    base_url: str

    def api(self) -> httpx.Client:
        return httpx.Client(base_url=f"{self.base_url}/v1", headers={"Authorization": f"Bearer {self.key}"})


@pytest.fixture(scope="session")
def publisher(deployment: Deployment, keys: Iterator[str]) -> Publisher:
    deployment.start()
    key = next(keys)
    with deployment.client(key) as api:
        rules = [{"pattern": folder, "policyId": api.policy(*own)} for folder, own in FOLDERS.items()]
        site = api.create("/v1/sites", host=HOST, mode="enforce", rules=rules)
        bound = {"name": "Edge", "type": "secret", "permissions": ["access:check"], "allowedHosts": [HOST]}
        return Publisher(key, api.post("/v1/api-keys", json=bound).json()["key"], site, deployment.url)


@pytest.fixture(scope="session", params=PROXIES, ids=lambda proxy: proxy.name)
def proxy(request: pytest.FixtureRequest) -> Proxy:
    return installed(request.param)


@pytest.fixture(scope="session")
def nginx() -> Proxy:
    [found] = [one for one in PROXIES if one.name == "nginx"]
    return installed(found)


def installed(found: Proxy) -> Proxy:
    if found.program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"No test of {found.name} ran: it is not installed.")
    return found


@pytest.fixture(scope="session")
def port(
    proxy: Proxy, deployment: Deployment, publisher: Publisher, origin: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[int]:
    """The port of the proxy in front of the origin."""
    directory = tmp_path_factory.mktemp(proxy.name)
    at = Place(publisher.edge_key, deployment.port, origin, free_port(), directory)
    with running(proxy, at):
        yield at.port


@pytest.fixture
def site(server: Deployment, publisher: Publisher) -> Iterator[httpx.Client]:
    """Return the publisher's API client, with the service running."""
    with publisher.api() as api:
        yield api


@pytest.fixture
def visit(server: Deployment, port: int) -> Iterator[httpx.Client]:
    """Return a visitor of pub.example behind the proxy, with the service running."""
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"Host": HOST}) as client:
        yield client
