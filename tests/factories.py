"""Initial test data, created with the product's services."""

from datetime import datetime
from decimal import Decimal
from itertools import count
from typing import Any

from accounts.events.models import Event
from accounts.keys import services as key_services
from accounts.models import Account, ApiKey
from accounts.plans import services as plan_services
from accounts.webhooks import services as webhook_services
from accounts.webhooks.models import WebhookEndpoint
from analytics.models import Payment
from analytics.payments.services import record_payment
from analytics.wallets import services as wallet_services
from licensing.clients import services as client_services
from licensing.clients.models import LicenseClient
from licensing.content import services as content_services
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.licenses.services import issue_license
from licensing.policies import services as policy_services
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from licensing.requesters.services import create_requester
from licensing.sites import services as site_services
from licensing.sites.models import Site

numbers = count(1)

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
ALLOW_ALL: dict[str, Any] = {"action": "allow", "conditions": {"default": True}, "permissions": ["full_access"]}
LICENSED: dict[str, Any] = {**ALLOW_ALL, "conditions": {"hasValidLicense": True}}
LICENSED_REQUESTER = {"id": "org_acme", "name": "Acme", "licenseType": "commercial", "hasValidLicense": True}


def account(name: str = "Publisher", **fields: Any) -> Account:
    """Create an account with limits that no ordinary test reaches, unless `plan` says otherwise."""
    if "plan" not in fields:
        fields = {"plan": "enterprise", "requests_per_minute": 100_000, "requests_per_day": 1_000_000, **fields}
    return plan_services.create_account(name, **fields)


def api_key(owner: Account, **fields: Any) -> tuple[ApiKey, str]:
    return key_services.create_api_key(owner.pk, **{"name": "test", "type": "secret", **fields})


def key_text(owner: Account, **fields: Any) -> str:
    return api_key(owner, **fields)[1]


def policy(owner: Account, *rules: dict[str, Any], **fields: Any) -> Policy:
    rules = rules or (ALLOW_LICENSED, DENY_ALL)
    return policy_services.create_policy(owner.pk, {"name": f"Policy {next(numbers)}", "rules": list(rules), **fields})


def requester(owner: Account, **fields: Any) -> Requester:
    """Create a customer with a unique id."""
    return create_requester(owner.pk, {"requester_id": f"customer_{owner.pk}_{next(numbers)}", **fields})


def license(owner: Account, requester_id: str = "org_acme", **fields: Any) -> License:  # noqa: A001
    """Create a licence for everything unless `fields` have a scope; `per_access` is the USD price per access."""
    if "per_access" in fields:
        fields |= {"access_amount": Decimal(fields.pop("per_access")), "access_currency": "USD"}
    return issue_license(owner.pk, {"requester_id": requester_id, "license_type": "commercial", **fields})


def license_client(owner: Account, requester_id: str = "org_acme", **fields: Any) -> tuple[LicenseClient, str]:
    """Create a licence server client; return it and its secret."""
    return client_services.create_client(owner.pk, {"requester_id": requester_id, "name": "Crawler", **fields})


def content(owner: Account, **fields: Any) -> Content:
    return content_services.create_content(owner.pk, {"title": f"Item {next(numbers)}", **fields})


def site(owner: Account, rules: dict[str, Policy | None] | None = None, **fields: Any) -> Site:
    """Create a site that enforces, and whose `rules` map patterns to policies."""
    told = [
        {"pattern": pattern, "policy_id": policy.pk if policy else None} for pattern, policy in (rules or {}).items()
    ]
    fields = {"host": f"site-{next(numbers)}.example", "mode": "enforce", "rules": told, **fields}
    return site_services.create_site(owner.pk, fields)


def wallet(owner: Account, unit: str = "USD", amount: object = 10, **fields: Any) -> dict[str, str]:
    """Return the ids of a new wallet and its only grant, for a new requester unless `requester_id` names one."""
    if "requester_id" not in fields:
        fields["requester_id"] = requester(owner).requester_id
    made = wallet_services.create_wallet(owner.pk, {"unit": unit, **fields})
    grant, _ = wallet_services.add_grant(made, {"amount": Decimal(str(amount)), "kind": "paid"})
    return {"wallet": made.pk, "grant": grant.pk}


def payment(owner: Account, amount: object = 10, *, now: datetime | None = None, **fields: Any) -> Payment:
    """Create a payment in USD, by a new requester unless `requester_id` names one."""
    if "requester_id" not in fields:
        fields["requester_id"] = requester(owner).requester_id
    return record_payment(owner.pk, {"amount": Decimal(str(amount)), "currency": "USD", **fields}, now)[0]


def endpoint(owner: Account, **fields: Any) -> tuple[WebhookEndpoint, str]:
    """Create a webhook endpoint subscribed to all events; return it and its secret."""
    return webhook_services.create_endpoint(owner.pk, {"url": "https://hooks.example/in", "events": ["*"], **fields})


def webhook(owner: Account, **fields: Any) -> dict[str, str]:
    """Return the ids of a new endpoint and of its ping event."""
    made, _ = endpoint(owner, **fields)
    event: Event = webhook_services.ping(made)
    return {"webhook": made.pk, "event": event.pk}
