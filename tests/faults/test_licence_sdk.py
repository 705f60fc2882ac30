"""A third-party client of the Open License Protocol: it finds the terms, gets a token and verifies it.

The SDK is the published package (supertab-connect-sdk on PyPI). Skipped, with a reason, if it is not installed;
required in CI (.ci/run installs it).
"""

import asyncio
import os
import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import httpx
import pytest

from tests.factories import LICENSED
from tests.faults.harness import Deployment


@pytest.fixture
def sdk() -> Any:
    if find_spec("supertab_connect") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("No test of supertab-connect-sdk ran: not installed.")
    from supertab_connect.customer import token
    from supertab_connect.merchant import jwks
    from supertab_connect.merchant import license as licenses

    token._LICENSE_TOKEN_CACHE.clear()
    token._LICENSE_XML_CACHE.clear()
    jwks.clear_jwks_cache()

    class Sdk:
        obtain, verify = staticmethod(token.obtain_license_token), staticmethod(licenses.verify_license_token)

    return Sdk


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A service whose name is `localhost`, so that 127.0.0.1 may be a site."""
    deployment = Deployment(tmp_path_factory.mktemp("sdk"), ALLOWED_HOSTS="localhost")
    deployment.environment["BASE_URL"] = f"http://localhost:{deployment.port}"
    try:
        deployment.migrate()
        deployment.start()
        yield deployment
    finally:
        deployment.close()


@pytest.fixture
def service(server: Deployment) -> str:
    return server.environment["BASE_URL"]


@pytest.fixture
def key(server: Deployment) -> str:
    [(key, _)] = server.accounts(1)
    return key


@pytest.fixture
def api(service: str, key: str) -> httpx.Client:
    return httpx.Client(base_url=f"{service}/v1", headers={"Authorization": f"Bearer {key}"})


@pytest.fixture
def licence(api: httpx.Client) -> Iterator[dict[str, Any]]:
    """A licence for the pages of the site 127.0.0.1."""
    policy = api.post("/policies", json={"name": "Licensed", "rules": [LICENSED]}).json()["id"]
    rules = [{"pattern": "/premium/*", "policyId": policy}]
    site = api.post("/sites", json={"host": "127.0.0.1", "mode": "enforce", "rules": rules})
    assert site.status_code == 201
    yield api.post("/licenses", json={"requesterId": "org", "licenseType": "commercial"}).json()
    api.delete(f"/sites/{site.json()['id']}")  # with two accounts, neither would publish terms


@pytest.fixture
def credentials(api: httpx.Client, licence: dict[str, Any]) -> dict[str, str]:
    made = api.post("/license-clients", json={"requesterId": "org"}).json()
    return {"client_id": made["id"], "client_secret": made["secret"]}


def test_the_sdk_obtains_a_token_that_it_verifies_and_the_edge_accepts(
    sdk, server, service, key, api, licence, credentials
):
    page = f"{server.url}/premium/a"

    async def visit() -> Any:
        token = await sdk.obtain(**credentials, resource_url=page)
        verify = {"supertab_base_url": service}
        head, body, signature = token.split(".")
        changed = f"{head}.{body}.{signature[:-4]}{'AAAA' if signature[-4:] != 'AAAA' else 'BBBB'}"
        return (
            token,
            await sdk.verify(token, request_url=page, **verify),
            await sdk.verify(token, request_url=f"{server.url}/other", **verify),
            await sdk.verify(changed, request_url=page, **verify),
        )

    token, own, elsewhere, changed = asyncio.run(visit())
    assert (own.valid, own.license_id) == (True, licence["id"])
    assert own.payload["exp"] > time.time()
    assert (elsewhere.valid, "audience" in str(elsewhere.reason).lower()) == (False, True)
    assert not changed.valid

    def ask() -> httpx.Response:
        return httpx.get(
            f"{service}/v1/access/forward",
            headers={"X-Licensing-Key": key, "Authorization": f"License {token}", "X-Forwarded-Uri": "/premium/a",
                     "X-Forwarded-Host": "127.0.0.1", "X-Forwarded-Proto": "http"},
        )  # fmt: skip

    allowed = ask()
    assert (allowed.status_code, allowed.headers["X-Access-Requester"]) == (200, "org")
    assert api.post(f"/licenses/{licence['id']}/revoke").status_code == 200
    assert ask().status_code == 401


def test_the_sdk_is_refused_with_a_wrong_secret(sdk, server, licence, credentials):
    from supertab_connect.exceptions import SupertabConnectError

    wrong = {**credentials, "client_secret": "svc_cs_wrong"}
    with pytest.raises(SupertabConnectError, match="401"):
        asyncio.run(sdk.obtain(**wrong, resource_url=f"{server.url}/premium/a"))
