"""Every endpoint with a valid sample request, and every endpoint known to the URL resolver.

Common rules are tested on each endpoint by parametrising over ENDPOINTS. A new endpoint without a sample here fails
test_samples.py.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.models import Account
from config.asgi import action_of, view_at
from tests import auditlog, factories, ledger
from tests.client import ApiClient, Reply

OWN_ACCOUNT = {"unknownHost": "deny", "timeZone": "Europe/Berlin", "currency": "EUR"}
WRITES = {"POST", "PATCH", "PUT", "DELETE"}
# They change no resource: a check only records its decision.
NOT_AUDITED = {
    "/v1/access/check", "/v1/access/check/batch", "/v1/access/offers/batch", "/v1/policies/lint",
    "/v1/policies/{policy}/simulate", "/v1/api-keys/find",
}  # fmt: skip


@dataclass(frozen=True)
class Endpoint:
    """A sample request. Placeholders such as `{content}` in path or body stand for ids of the account's resources."""

    method: str
    path: str
    permission: str | None  # None: no key needed; "": any key; two permissions are joined by a space
    body: dict[str, Any] | None = None
    status: int = 200
    query: str = ""  # the query that a GET needs

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def permissions(self) -> list[str]:
        return (self.permission or "").split()

    @property
    def names_a_resource(self) -> bool:
        return "{" in self.path

    @property
    def is_exportable_list(self) -> bool:
        """Whether its viewset declares the list as `exportable`."""
        view = view_at(re.sub(r"\{\w+\}", "x", self.path))
        action = action_of(view, self.method)
        return action is not None and action in view.cls.listing and action in view.cls.exportable

    def filled(self, ids: dict[str, str]) -> tuple[str, dict[str, Any] | None]:
        """Return path and body with these ids; missing ones become "unknown"."""
        ids = defaultdict(lambda: "unknown", ids)
        body = self.body and {
            name: value.format_map(ids) if isinstance(value, str) else value for name, value in self.body.items()
        }
        return self.path.format_map(ids), body

    def address(self, ids: dict[str, str]) -> str:
        """Return the path with its required query."""
        return self.filled(ids)[0] + (f"?{self.query.format(**ids)}" if self.query else "")

    def send(self, api: ApiClient, ids: dict[str, str], **options: Any) -> Reply:
        _, body = self.filled(ids)
        return api.request(self.method, self.address(ids), options.pop("json", body), **options)


PRICES = {name: {"amount": "12.50", "currency": "EUR"} for name in ("price", "pricePerAccess")}
NEW_LICENSE = {"requesterId": "org", "licenseType": "commercial", **PRICES}
ENDPOINTS = [
    Endpoint("GET", "/v1/openapi.json", None),
    Endpoint("GET", "/v1/content", "content:read"),
    Endpoint("POST", "/v1/content", "content:write", {"title": "New"}, 201),
    Endpoint("POST", "/v1/content/bulk", "content:write", {"items": [{"title": "New"}]}),
    Endpoint("GET", "/v1/content/{content}", "content:read"),
    Endpoint("PATCH", "/v1/content/{content}", "content:write", {"title": "Changed"}),
    Endpoint("DELETE", "/v1/content/{content}", "content:write"),
    Endpoint("GET", "/v1/policies", "policies:read"),
    Endpoint("POST", "/v1/policies", "policies:write", {"name": "New"}, 201),
    Endpoint("POST", "/v1/policies/bulk", "policies:write", {"items": [{"name": "New"}]}),
    Endpoint("POST", "/v1/policies/lint", "policies:read", {"defaultAction": "allow"}),
    Endpoint("GET", "/v1/policies/{policy}", "policies:read"),
    Endpoint("PATCH", "/v1/policies/{policy}", "policies:write", {"name": "Changed"}),
    Endpoint("DELETE", "/v1/policies/{policy}", "policies:write"),
    Endpoint("GET", "/v1/policies/{policy}/versions", "policies:read"),
    Endpoint("POST", "/v1/policies/{policy}/rollback", "policies:write", {"version": 1}),
    Endpoint("POST", "/v1/policies/{policy}/simulate", "policies:read analytics:read", {"defaultAction": "allow"}),
    Endpoint("GET", "/v1/sites", "content:read"),
    Endpoint("POST", "/v1/sites", "content:write", {"host": "new.example"}, 201),
    Endpoint("GET", "/v1/sites/{site}", "content:read"),
    Endpoint("PATCH", "/v1/sites/{site}", "content:write", {"host": "changed.example"}),
    Endpoint("GET", "/v1/sites/{site}/proxy-config", "content:read", query="for=nginx"),
    Endpoint("POST", "/v1/sites/{site}/verify", "content:write"),
    Endpoint("DELETE", "/v1/sites/{site}", "content:write"),
    Endpoint("GET", "/v1/crawlers", "content:read"),
    Endpoint("GET", "/v1/requesters", "licenses:read"),
    Endpoint("POST", "/v1/requesters", "licenses:write", {"id": "org_new", "name": "New"}, 201),
    Endpoint("GET", "/v1/requesters/{requester}", "licenses:read"),
    Endpoint("PATCH", "/v1/requesters/{requester}", "licenses:write", {"notes": "Changed"}),
    Endpoint("POST", "/v1/requesters/{requester}/portal-sessions", "licenses:write", {"scopes": ["licenses"]}),
    Endpoint("POST", "/v1/requesters/{requester}/merge", "licenses:write", {"into": "{anotherRequester}"}),
    Endpoint("DELETE", "/v1/requesters/{requester}", "licenses:write"),
    Endpoint("GET", "/v1/licenses", "licenses:read"),
    Endpoint("POST", "/v1/licenses", "licenses:write", NEW_LICENSE, 201),
    Endpoint("POST", "/v1/licenses/bulk", "licenses:write", {"items": [NEW_LICENSE]}),
    Endpoint("GET", "/v1/licenses/{license}", "licenses:read"),
    Endpoint("PATCH", "/v1/licenses/{license}", "licenses:write", {"licenseType": "enterprise", **PRICES}),
    Endpoint("POST", "/v1/licenses/{license}/revoke", "licenses:write"),
    Endpoint("GET", "/v1/license-clients", "licenses:read"),
    Endpoint("POST", "/v1/license-clients", "licenses:write", {"requesterId": "org"}, 201),
    Endpoint("GET", "/v1/license-clients/{client}", "licenses:read"),
    Endpoint("DELETE", "/v1/license-clients/{client}", "licenses:write"),
    Endpoint("POST", "/v1/license-clients/{client}/rotate", "licenses:write", {}),
    Endpoint("POST", "/v1/access/check", "access:check", {"contentId": "{content}", "requester": "org"}),
    Endpoint("POST", "/v1/access/check/batch", "access:check",
     {"contentId": "{content}", "requester": "org", "checks": [{}]}),
    Endpoint("GET", "/v1/access/offers", "access:check", query="contentId={content}"),
    Endpoint("POST", "/v1/access/offers/batch", "access:check", {"items": [{"url": "https://pub.example/a"}]}),
    Endpoint("GET", "/v1/access/decisions", "analytics:read"),
    Endpoint("GET", "/v1/access/decisions/{decision}", "access:check"),
    Endpoint("GET", "/v1/analytics/usage", "analytics:read"),
    Endpoint("GET", "/v1/analytics/observed", "analytics:read"),
    Endpoint("GET", "/v1/analytics/visitors", "analytics:read"),
    Endpoint("GET", "/v1/analytics/pages", "analytics:read"),
    Endpoint("GET", "/v1/analytics/crawlers", "analytics:read"),
    Endpoint("GET", "/v1/accounts/me", ""),
    Endpoint("PATCH", "/v1/accounts/me", "content:write", OWN_ACCOUNT),
    Endpoint("GET", "/v1/api-keys", "api_keys:manage"),
    Endpoint("POST", "/v1/api-keys", "api_keys:manage", {"name": "New", "type": "secret"}, 201),
    Endpoint("POST", "/v1/api-keys/bulk", "api_keys:manage", {"items": [{"name": "New", "type": "secret"}]}),
    Endpoint("POST", "/v1/api-keys/find", "api_keys:manage", {"key": "{keyText}"}),
    Endpoint("GET", "/v1/api-keys/{key}", "api_keys:manage"),
    Endpoint("PATCH", "/v1/api-keys/{key}", "api_keys:manage", {"name": "Changed"}),
    Endpoint("DELETE", "/v1/api-keys/{key}", "api_keys:manage"),
    Endpoint("POST", "/v1/api-keys/{key}/rotate", "api_keys:manage", {}, 201),
    Endpoint("GET", "/v1/analytics/revenue", "analytics:read"),
    Endpoint("GET", "/v1/revenue", "revenue:read"),
    Endpoint("POST", "/v1/revenue", "revenue:write", {"amount": "1.50", "currency": "EUR", "description": "A sale"},
     201),
    Endpoint("GET", "/v1/revenue/{entry}", "revenue:read"),
    Endpoint("POST", "/v1/refunds", "revenue:write", {"entryId": "{licensePrice}", "amount": "0.01"}, 201),
    Endpoint("GET", "/v1/wallets", "licenses:read"),
    Endpoint("POST", "/v1/wallets", "licenses:write", {"requesterId": "{requester}", "unit": "EUR"}, 201),
    Endpoint("GET", "/v1/wallets/{wallet}", "licenses:read"),
    Endpoint("PATCH", "/v1/wallets/{wallet}", "licenses:write", {"floor": -5}),
    Endpoint("GET", "/v1/wallets/{wallet}/grants", "licenses:read"),
    Endpoint("POST", "/v1/wallets/{wallet}/grants", "licenses:write", {"amount": 5}, 201),
    Endpoint("GET", "/v1/wallets/{wallet}/grants/{grant}", "licenses:read"),
    Endpoint("POST", "/v1/wallets/{wallet}/grants/{grant}/void", "licenses:write"),
    Endpoint("GET", "/v1/wallets/{wallet}/entries", "licenses:read"),
    Endpoint("GET", "/v1/wallets/{wallet}/access", "licenses:read"),
    Endpoint("GET", "/v1/payments", "revenue:read"),
    Endpoint("POST", "/v1/payments", "revenue:write", {"requesterId": "{requester}", "amount": 5, "currency": "EUR"},
     201),
    Endpoint("GET", "/v1/payments/{payment}", "revenue:read"),
    Endpoint("POST", "/v1/payments/{payment}/void", "revenue:write", {"reason": "Returned"}),
    Endpoint("GET", "/v1/statements", "revenue:read"),
    Endpoint("GET", "/v1/statements/{statement}", "revenue:read"),
    Endpoint("GET", "/v1/statements/{statement}/lines", "revenue:read"),
    Endpoint("GET", "/v1/statements/{paidStatement}/payments", "revenue:read"),
    Endpoint("GET", "/v1/audit", "audit:read"),
    Endpoint("GET", "/v1/audit/{audit}", "audit:read"),
    Endpoint("GET", "/v1/events", "webhooks:manage"),
    Endpoint("GET", "/v1/events/{event}", "webhooks:manage"),
    Endpoint("POST", "/v1/events/{event}/redeliver", "webhooks:manage", {"webhookId": "{webhook}"}),
    Endpoint("GET", "/v1/webhooks", "webhooks:manage"),
    Endpoint("POST", "/v1/webhooks", "webhooks:manage",
     {"url": "https://hooks.example/in", "events": ["webhook_endpoint.*"]}, 201),
    Endpoint("GET", "/v1/webhooks/{webhook}", "webhooks:manage"),
    Endpoint("PATCH", "/v1/webhooks/{webhook}", "webhooks:manage", {"description": "Changed"}),
    Endpoint("DELETE", "/v1/webhooks/{webhook}", "webhooks:manage"),
    Endpoint("POST", "/v1/webhooks/{webhook}/rotate", "webhooks:manage"),
    Endpoint("POST", "/v1/webhooks/{webhook}/ping", "webhooks:manage"),
    Endpoint("GET", "/v1/webhooks/{webhook}/deliveries", "webhooks:manage"),
    Endpoint("POST", "/v1/webhooks/{webhook}/recover", "webhooks:manage", {"since": "2026-01-01"}),
]  # fmt: skip


def each(endpoints: list[Endpoint]) -> pytest.MarkDecorator:
    """Parametrise a test by `endpoint`."""
    return pytest.mark.parametrize("endpoint", endpoints, ids=str)


WITH_KEY = [endpoint for endpoint in ENDPOINTS if endpoint.permission is not None]
WITH_PERMISSION = [endpoint for endpoint in ENDPOINTS if endpoint.permission]
each_endpoint = partial(each, ENDPOINTS)
each_endpoint_with_key = partial(each, WITH_KEY)
each_endpoint_with_permission = partial(each, WITH_PERMISSION)
each_with_id = partial(each, [endpoint for endpoint in ENDPOINTS if endpoint.names_a_resource])
each_with_body = partial(each, [endpoint for endpoint in ENDPOINTS if endpoint.body is not None])
each_post = partial(each, [endpoint for endpoint in ENDPOINTS if endpoint.method == "POST"])
each_write = partial(each, [endpoint for endpoint in WITH_KEY if endpoint.method in WRITES])
each_read = partial(each, [endpoint for endpoint in ENDPOINTS if endpoint.method == "GET"])
LISTS = [
    "/v1/content", "/v1/policies", "/v1/policies/{policy}/versions", "/v1/sites", "/v1/requesters", "/v1/licenses",
    "/v1/license-clients", "/v1/access/decisions", "/v1/api-keys", "/v1/revenue", "/v1/wallets",
    "/v1/wallets/{wallet}/grants", "/v1/wallets/{wallet}/entries", "/v1/payments", "/v1/statements",
    "/v1/statements/{statement}/lines", "/v1/statements/{paidStatement}/payments", "/v1/audit", "/v1/events",
    "/v1/webhooks", "/v1/webhooks/{webhook}/deliveries",
]  # fmt: skip
each_exportable_list = partial(each, [endpoint for endpoint in ENDPOINTS if endpoint.is_exportable_list])
each_list = partial(each, [endpoint for endpoint in ENDPOINTS if endpoint.method == "GET" and endpoint.path in LISTS])


def make_resources(account: Account) -> dict[str, str]:
    """Create one of each resource; return their ids by placeholder name."""
    item, policy = factories.content(account), factories.policy(account)
    key, key_text = factories.api_key(account)
    check = {"contentId": item.pk, "requester": "org"}
    decision = ApiClient(factories.key_text(account)).post("/v1/access/check", check)
    [entry] = auditlog.entries(resource_id=item.pk)
    booked = ledger.add(account)
    requester = factories.requester(account)
    payment = factories.payment(account, requester_id=requester.requester_id)
    return {
        "content": item.pk,
        "policy": policy.pk,
        "license": factories.license(account).pk,
        "client": factories.license_client(account)[0].pk,
        "requester": requester.requester_id,
        "anotherRequester": factories.requester(account).requester_id,
        "site": factories.site(account).pk,
        "key": key.pk,
        "keyText": key_text,
        "decision": decision["id"],
        "entry": booked.pk,
        "licensePrice": ledger.add(account, license=factories.license(account)).pk,
        "statement": ledger.statement_id(account.pk, None, booked.created.date(), booked.currency),
        "payment": payment.pk,
        "paidStatement": ledger.statement_id(account.pk, requester.pk, payment.created.date(), payment.currency),
        "audit": entry.pk,
        **factories.wallet(account),
        **factories.webhook(account, events=["webhook_endpoint.*"]),
    }


def routes(patterns: list[URLPattern | URLResolver], before: str = "/") -> Iterator[tuple[str, Any]]:
    """Yield path and view of every route, converters as `{}`. Skips regular expressions (unknown paths)."""
    for pattern in patterns:
        route = getattr(pattern.pattern, "_route", None)
        if route is None:
            continue
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, before + route)
        else:
            yield before + re.sub(r"<[^>]+>", "{}", route), pattern.callback


def known_to_the_resolver() -> set[tuple[str, str]]:
    """Return method and path of every endpoint under /v1, without HEAD."""
    found = set()
    for path, callback in routes(get_resolver().url_patterns):
        if path.startswith("/v1/"):
            found |= {(method.upper(), path) for method in callback.actions}
    return {(method, path) for method, path in found if method not in {"HEAD", "OPTIONS"}}
