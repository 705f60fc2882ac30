"""Rows for lists, and walks through their pages."""

import re
from datetime import UTC, datetime

from django.apps import apps
from django.db.models import DateTimeField

from accounts.models import ApiKey
from accounts.webhooks.models import WebhookAttempt
from analytics.models import Grant, LedgerEntry, Payment, WalletEntry
from config.asgi import view_at
from config.management import append_only
from kit.values.currencies import CURRENCIES
from licensing.policies.models import PolicyRevision

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC)
# The POST that adds a row to the list.
ROWS = {
    "/v1/policies": lambda n: {"name": f"Policy {n}"},
    "/v1/sites": lambda n: {"host": f"site{n}.example"},
    "/v1/requesters": lambda n: {"id": f"customer_{n}"},
    "/v1/licenses": lambda n: {"requesterId": f"org_{n}", "licenseType": "commercial"},
    "/v1/license-clients": lambda n: {"requesterId": f"org_{n}"},
    "/v1/webhooks": lambda n: {"url": f"https://hooks.example/{n}"},
    "/v1/api-keys": lambda n: {"name": f"Key {n}", "type": "public"},
}


# Of lists whose views have another model, or none.
MODELS = {
    "/v1/policies/{policy}/versions": PolicyRevision,
    "/v1/wallets/{wallet}/grants": Grant,
    "/v1/wallets/{wallet}/entries": WalletEntry,
    "/v1/statements": LedgerEntry,
    "/v1/statements/{statement}/lines": LedgerEntry,
    "/v1/statements/{paidStatement}/payments": Payment,
    "/v1/webhooks/{webhook}/deliveries": WebhookAttempt,
}


def grow(api, ids, path, count):
    """Add `count` rows to the list at `path`."""
    for n in range(count):
        if path in ("/v1/content", "/v1/audit", "/v1/events"):
            api.post("/v1/content", {"title": f"Item {n}"})
        elif path.endswith("/versions"):
            api.patch(f"/v1/policies/{ids['policy']}", {"name": f"Version {n}"})
        elif path == "/v1/access/decisions":
            api.post("/v1/access/check", {"contentId": ids["content"], "requester": f"org_{n}"})
        elif path.endswith("/payments"):
            api.post("/v1/payments", {"requesterId": ids["requester"], "amount": n + 1, "currency": "USD"})
        elif path.startswith(("/v1/revenue", "/v1/statements")):
            currency = CURRENCIES[n] if path == "/v1/statements" else "USD"
            api.post("/v1/revenue", {"amount": n + 1, "currency": currency, "description": f"Sale {n}"})
        elif path == "/v1/wallets":
            api.post("/v1/requesters", {"id": f"wallet_{n}"})
            api.post(path, {"requesterId": f"wallet_{n}", "unit": "USD"})
        elif path.startswith("/v1/wallets/"):
            api.post(f"/v1/wallets/{ids['wallet']}/grants", {"amount": n + 1})
        elif path.endswith("/deliveries"):
            add_attempt(ids["webhook"], ids["event"], n + 1)
        else:
            assert path in ROWS, "A new list needs a row in ROWS, or a branch here, that adds to it."
            api.post(path, ROWS[path](n))


def add_attempt(endpoint_id, event_id, number):
    reply = {"succeeded": True, "status": 200, "reply": "ok", "duration_ms": 10}
    WebhookAttempt.objects.create(endpoint_id=endpoint_id, event_id=event_id, number=number, **reply)


def make_simultaneous(path):
    """Set the same creation time on all rows of the list."""
    model = MODELS.get(path) or view_at(re.sub(r"\{\w+\}", "x", path)).cls.queryset.model
    field = "created_at" if model is ApiKey else "created"
    assert isinstance(apps.get_model(model._meta.label)._meta.get_field(field), DateTimeField)
    # A statement belongs to the month in which its entries were recorded.
    moment = model.objects.latest("created").created if path.startswith("/v1/statements") else MOMENT
    with append_only.unlocked():
        model.objects.update(**{field: moment})


def identity(row):
    return row["id"], row.get("version")


def walk(api, path, **query):
    """Return the identities of all rows, and the pages."""
    pages = [api.get(path, **query)]
    while pages[-1]["hasMore"]:
        pages.append(api.get(path, **query, cursor=pages[-1]["nextCursor"]))
    return [identity(row) for page in pages for row in page["data"]], pages
