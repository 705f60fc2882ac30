"""A site of the service, and the WordPress that is about it, as fixtures."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import httpx
import pytest
from content_access_licensing import Client

from tests.clients.wordpress import HOST, WordPress, wordpress
from tests.faults.harness import Deployment

FREE: Any = [{"action": "allow", "conditions": {"default": True}, "permissions": ["full_access"]}]
SOLD: Any = [
    {"action": "allow", "priority": 1, "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]},
    {
        "action": "allow",
        "priority": 2,
        "conditions": {"permission": "ai_training"},
        "permissions": ["ai_training"],
        "pricePerAccess": {"amount": "0.015", "currency": "USD"},
    },
    {"action": "deny", "conditions": {"default": True}, "message": "Buy a licence."},
]


@pytest.fixture(scope="module")
def client(running: Deployment) -> Iterator[Client]:
    [(_, key, _)] = running.ask_shell("accounts", 1)
    with Client(key, running.url, http=httpx.Client(trust_env=False)) as made:
        yield made


@pytest.fixture(scope="module")
def site(client: Client) -> str:
    free, sold = (client.create_policy({"name": "A", "rules": rules})["id"] for rules in (FREE, SOLD))
    rules: Any = [{"pattern": "/$", "policyId": free}, {"pattern": "/free/*", "policyId": free}]
    rules += [{"pattern": f"{path}*", "policyId": free} for path in ("/about/", "/category/free/")]
    rules.append({"pattern": "/premium/*", "policyId": sold})
    made = client.create_site(
        {"host": HOST, "mode": "enforce", "name": "The Daily", "unknown": "deny", "rules": rules}
    )
    client.create_license({"requesterId": "org_acme", "licenseType": "commercial"})
    metered: Any = {"requesterId": "org_metered", "licenseType": "commercial"}
    client.create_license({**metered, "pricePerAccess": {"amount": "0.05", "currency": "USD"}})
    return str(made["id"])


@pytest.fixture(scope="module")
def blog(running, client, site, tmp_path_factory):
    key = client.create_api_key(
        {"name": "WordPress", "type": "secret", "permissions": ["access:check"], "allowedHosts": [HOST]}
    )
    with wordpress(tmp_path_factory.mktemp("wordpress"), running.url, key["key"]) as made:
        yield made


@pytest.fixture
def visit(blog: WordPress) -> Iterator[httpx.Client]:
    with blog.client() as made:
        yield made


@contextmanager
def opened(client: Client, site: str, *patterns: str, like: str = "/free/*") -> Iterator[None]:
    """Add patterns with the policy of the pattern `like`."""
    before = client.get_site(site)["rules"]
    policy = next(rule["policyId"] for rule in before if rule["pattern"] == like)
    added: Any = [{"pattern": pattern, "policyId": policy} for pattern in patterns]
    client.update_site(site, {"rules": [*added, *before]})
    try:
        yield
    finally:
        client.update_site(site, {"rules": before})


def newest_charge(client: Client) -> Decimal | None:
    charge = next(client.list_decisions({"requesterId": "org_metered"}))["charge"]
    return None if charge is None else Decimal(charge["amount"])
