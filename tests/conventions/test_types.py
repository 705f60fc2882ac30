"""Fields accept only JSON values of their own type (docs/reference/api.md)."""

from typing import Any

from tests.conventions.endpoints import ENDPOINTS, each_with_body

TEXT, NUMBER, TRUTH, ARRAY, OBJECT = "12", 12, True, [], {}
NOT_A_TEXT = (NUMBER, 1.5, TRUTH, ARRAY, OBJECT)
NOT_AN_INTEGER = (TEXT, 1.5, 12.0, TRUTH, ARRAY, OBJECT)
NOT_A_BOOLEAN = ("true", 1, 0, ARRAY, OBJECT)
NOT_AN_ARRAY = (TEXT, NUMBER, TRUTH, OBJECT)
NOT_AN_OBJECT = (TEXT, NUMBER, TRUTH, ARRAY)
RULE = {"action": "allow", "conditions": {"default": True}}

# For each body: fields by path, and values of wrong types.
CONTENT: dict[str, tuple[Any, ...]] = {
    "externalId": NOT_A_TEXT,
    "title": NOT_A_TEXT,
    "type": NOT_A_TEXT,
    "source": NOT_A_TEXT,
    "policyId": NOT_A_TEXT,
    "status": NOT_A_TEXT,
    "metadata": NOT_AN_OBJECT,
    "metadata.author": NOT_A_TEXT,
    "metadata.publishedAt": NOT_A_TEXT,
    "metadata.category": NOT_A_TEXT,
    "metadata.tags": NOT_AN_ARRAY,
    "metadata.wordCount": NOT_AN_INTEGER,
    "tags": NOT_AN_ARRAY,
    "tags[0]": (*NOT_A_TEXT, None),
}
POLICY: dict[str, tuple[Any, ...]] = {
    "name": NOT_A_TEXT,
    "description": NOT_A_TEXT,
    "defaultAction": NOT_A_TEXT,
    "mode": NOT_A_TEXT,
    "rules": NOT_AN_ARRAY,
    "rules[0]": NOT_AN_OBJECT,
    "rules[0].action": (*NOT_A_TEXT, None),
    "rules[0].priority": (*NOT_AN_INTEGER, None),
    "rules[0].conditions": (*NOT_AN_OBJECT, None),
    "rules[0].conditions.licenseType": (NUMBER, TRUTH, OBJECT, None),
    "rules[0].conditions.hasValidLicense": (*NOT_A_BOOLEAN, None),
    "rules[0].conditions.default": (*NOT_A_BOOLEAN, None),
    "rules[0].permissions": (*NOT_AN_ARRAY, None),
    "rules[0].permissions[0]": (*NOT_A_TEXT, None),
    "rules[0].rateLimit": (*NOT_AN_OBJECT, None),
    "rules[0].message": (*NOT_A_TEXT, None),
}
CHECK: dict[str, tuple[Any, ...]] = {
    "contentId": NOT_A_TEXT,
    "externalId": NOT_A_TEXT,
    "source": NOT_A_TEXT,
    "requester": (NUMBER, TRUTH, ARRAY),
    "requester.id": (*NOT_A_TEXT, None),
    "requester.name": NOT_A_TEXT,
    "requester.licenseType": NOT_A_TEXT,
    "requester.hasValidLicense": NOT_A_BOOLEAN,
    "permission": NOT_A_TEXT,
    "context": NOT_AN_OBJECT,
    "context.ip": NOT_A_TEXT,
    "context.userAgent": NOT_A_TEXT,
    "dryRun": NOT_A_BOOLEAN,
    "explain": NOT_A_BOOLEAN,
}
BATCH = {**CHECK, "checks": NOT_AN_ARRAY, "checks[0]": NOT_AN_OBJECT, "checks[0].correlationId": NOT_A_TEXT}
BATCH |= {f"checks[0].{name}": values for name, values in CHECK.items()}
KEY: dict[str, tuple[Any, ...]] = {
    "name": NOT_A_TEXT,
    "type": NOT_A_TEXT,
    "permissions": NOT_AN_ARRAY,
    "permissions[0]": (*NOT_A_TEXT, None),
    "allowedIps": NOT_AN_ARRAY,
    "allowedIps[0]": (*NOT_A_TEXT, None),
    "allowedHosts": NOT_AN_ARRAY,
    "allowedHosts[0]": (*NOT_A_TEXT, None),
    "rateLimit": NOT_AN_OBJECT,
    "expiresAt": NOT_A_TEXT,
}
MONEY: dict[str, tuple[Any, ...]] = {
    "": NOT_AN_OBJECT,
    ".amount": (TRUTH, ARRAY, OBJECT, None),
    ".currency": (*NOT_A_TEXT, None),
}
LICENSE: dict[str, tuple[Any, ...]] = {
    "requesterId": (*NOT_A_TEXT, None),
    "requesterName": NOT_A_TEXT,
    "licenseType": (*NOT_A_TEXT, None),
    "contentIds": NOT_AN_ARRAY,
    "contentIds[0]": (*NOT_A_TEXT, None),
    "tags": NOT_AN_ARRAY,
    "tags[0]": (*NOT_A_TEXT, None),
    "policyIds": NOT_AN_ARRAY,
    "policyIds[0]": (*NOT_A_TEXT, None),
    "startsAt": NOT_A_TEXT,
    "expiresAt": NOT_A_TEXT,
    **{f"{price}{field}": values for price in ("price", "pricePerAccess") for field, values in MONEY.items()},
}
REQUESTER: dict[str, tuple[Any, ...]] = {
    "name": NOT_A_TEXT,
    "email": (*NOT_A_TEXT, "nobody"),
    "notes": NOT_A_TEXT,
    "metadata": NOT_AN_OBJECT,
    "metadata.seats": (ARRAY, OBJECT),
}
SITE: dict[str, tuple[Any, ...]] = {
    "host": (*NOT_A_TEXT, None),
    "aliases": NOT_AN_ARRAY,
    "aliases[0]": (*NOT_A_TEXT, None),
    "ask": (*NOT_A_TEXT, None),
    "mode": (*NOT_A_TEXT, None),
    "unknown": (*NOT_A_TEXT, None),
    "rules": NOT_AN_ARRAY,
    "rules[0]": (*NOT_AN_OBJECT, None),
    "rules[0].pattern": (*NOT_A_TEXT, None),
    "rules[0].policyId": NOT_A_TEXT,
}
ADJUSTMENT: dict[str, tuple[Any, ...]] = {
    "amount": ("twelve", "1e2", TRUTH, ARRAY, OBJECT, None),
    "currency": NOT_A_TEXT,
    "occurredAt": NOT_A_TEXT,
    "licenseId": NOT_A_TEXT,
    "licenseType": NOT_A_TEXT,
    "decisionId": NOT_A_TEXT,
    "contentId": NOT_A_TEXT,
    "requesterId": NOT_A_TEXT,
    "description": NOT_A_TEXT,
    "externalId": NOT_A_TEXT,
}
DRAFT = {path: values for path, values in POLICY.items() if path not in ("name", "description", "mode")}
SIMULATION: dict[str, tuple[Any, ...]] = {
    **DRAFT,
    "period": (*NOT_A_TEXT, None),
    "startDate": NOT_A_TEXT,
    "endDate": NOT_A_TEXT,
    "limit": NOT_AN_INTEGER,
}
WEBHOOK: dict[str, tuple[Any, ...]] = {
    "url": (*NOT_A_TEXT, None),
    "events": NOT_AN_ARRAY,
    "events[0]": (*NOT_A_TEXT, None),
    "description": NOT_A_TEXT,
    "status": (*NOT_A_TEXT, None),
    "headers": NOT_AN_OBJECT,
    "headers.X-Auth": (*NOT_A_TEXT, None),
}
NOT_AN_AMOUNT = ("twelve", "1e2", TRUTH, ARRAY, OBJECT)
AMOUNT = (*NOT_AN_AMOUNT, None)
WALLET_TERMS: dict[str, tuple[Any, ...]] = {
    "floor": NOT_AN_AMOUNT,
    "thresholds": NOT_AN_ARRAY,
    "thresholds[0]": (*NOT_AN_OBJECT, None),
    "thresholds[0].value": NOT_AN_AMOUNT,
    "thresholds[0].percent": NOT_AN_INTEGER,
    "refill": NOT_AN_OBJECT,
    "refill.amount": AMOUNT,
    "refill.every": (*NOT_A_TEXT, None),
    "refill.anchor": NOT_A_TEXT,
    "refill.rollover": NOT_AN_OBJECT,
    "refill.rollover.min": NOT_AN_AMOUNT,
    "refill.rollover.max": NOT_AN_AMOUNT,
}
WALLET = {"requesterId": (*NOT_A_TEXT, None), "licenseId": NOT_A_TEXT, "unit": (*NOT_A_TEXT, None), **WALLET_TERMS}
GRANT: dict[str, tuple[Any, ...]] = {
    "amount": AMOUNT,
    "kind": (*NOT_A_TEXT, None),
    "priority": NOT_AN_INTEGER,
    "effectiveAt": NOT_A_TEXT,
    "expiresAt": NOT_A_TEXT,
    "externalId": NOT_A_TEXT,
    "paid": NOT_AN_OBJECT,
    "paid.amount": AMOUNT,
}
PAYMENT: dict[str, tuple[Any, ...]] = {
    "requesterId": (*NOT_A_TEXT, None),
    "kind": (*NOT_A_TEXT, None),
    "amount": AMOUNT,
    "currency": (*NOT_A_TEXT, None),
    "receivedAt": NOT_A_TEXT,
    "externalId": NOT_A_TEXT,
    "note": NOT_A_TEXT,
}
BODIES: dict[str, dict[str, tuple[Any, ...]]] = {
    "POST /v1/content": CONTENT,
    "PATCH /v1/content/{content}": CONTENT,
    "POST /v1/content/bulk": {"items": (*NOT_AN_ARRAY, None)},
    "POST /v1/licenses/bulk": {"items": (*NOT_AN_ARRAY, None)},
    "POST /v1/api-keys/bulk": {"items": (*NOT_AN_ARRAY, None)},
    "POST /v1/policies": POLICY,
    "PATCH /v1/policies/{policy}": POLICY,
    "POST /v1/policies/bulk": {"items": (*NOT_AN_ARRAY, None)},
    "POST /v1/policies/{policy}/rollback": {"version": (*NOT_AN_INTEGER, None)},
    "POST /v1/policies/{policy}/simulate": SIMULATION,
    "POST /v1/policies/lint": DRAFT,
    "POST /v1/requesters": {**REQUESTER, "id": (*NOT_A_TEXT, None)},
    "PATCH /v1/requesters/{requester}": REQUESTER,
    "POST /v1/requesters/{requester}/portal-sessions": {
        "scopes": NOT_AN_ARRAY,
        "scopes[0]": (*NOT_A_TEXT, None),
        "returnUrl": NOT_A_TEXT,
    },
    "POST /v1/requesters/{requester}/merge": {"into": (*NOT_A_TEXT, None)},
    "POST /v1/licenses": LICENSE,
    "PATCH /v1/licenses/{license}": LICENSE,
    "POST /v1/license-clients": {"requesterId": (*NOT_A_TEXT, None), "requesterName": NOT_A_TEXT, "name": NOT_A_TEXT},
    "POST /v1/license-clients/{client}/rotate": {"overlapSeconds": NOT_AN_INTEGER},
    "POST /v1/sites": SITE,
    "PATCH /v1/sites/{site}": SITE,
    "POST /v1/access/check": CHECK,
    "POST /v1/access/check/batch": BATCH,
    "POST /v1/access/offers/batch": {
        "items": (*NOT_AN_ARRAY, None),
        "items[0]": (*NOT_AN_OBJECT, None),
        "items[0].url": NOT_A_TEXT,
        "requesterId": NOT_A_TEXT,
        "permission": NOT_A_TEXT,
    },
    "POST /v1/api-keys": KEY,
    "POST /v1/api-keys/find": {"key": (*NOT_A_TEXT, None)},
    "PATCH /v1/api-keys/{key}": KEY,
    "PATCH /v1/accounts/me": {
        "unknownHost": NOT_A_TEXT,
        "visitorAddresses": NOT_A_TEXT,
        "timeZone": NOT_A_TEXT,
        "currency": NOT_A_TEXT,
    },
    "POST /v1/revenue": ADJUSTMENT,
    "POST /v1/refunds": {
        "entryId": NOT_A_TEXT,
        "licenseId": NOT_A_TEXT,
        "decisionId": NOT_A_TEXT,
        "amount": NOT_AN_AMOUNT,
        "reason": NOT_A_TEXT,
        "externalId": NOT_A_TEXT,
    },
    "POST /v1/payments": PAYMENT,
    "POST /v1/payments/{payment}/void": {"reason": (*NOT_A_TEXT, None)},
    "POST /v1/wallets": WALLET,
    "PATCH /v1/wallets/{wallet}": WALLET_TERMS,
    "POST /v1/wallets/{wallet}/grants": GRANT,
    "POST /v1/api-keys/{key}/rotate": {"overlapSeconds": NOT_AN_INTEGER},
    "POST /v1/webhooks": WEBHOOK,
    "PATCH /v1/webhooks/{webhook}": WEBHOOK,
    "POST /v1/webhooks/{webhook}/recover": {"since": NOT_A_TEXT, "dryRun": NOT_A_BOOLEAN},
    "POST /v1/events/{event}/redeliver": {"webhookId": (*NOT_A_TEXT, None)},
}


def test_every_body_has_its_fields_here():
    assert set(BODIES) == {str(endpoint) for endpoint in ENDPOINTS if endpoint.body is not None}


def with_value(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy of the body with the value at the path; adds missing parents."""
    name, _, rest = path.partition(".")
    name, is_member, _ = name.partition("[")
    if is_member:
        whole = {} if name != "rules" else {"pattern": "/a"} if "host" in body else {**RULE}
        return {**body, name: [with_value(whole, rest, value) if rest else value]}
    if not rest:
        return {**body, name: value}
    if name == "refill":
        body = {"refill": {"amount": 5, "every": "day"}, **body}
    around = body.get(name) if isinstance(body.get(name), dict) else {"id": "org"} if name == "requester" else {}
    if name == "conditions":
        around = {}
    return {**body, name: with_value(around, rest, value)}


@each_with_body()
def test_values_of_another_type_are_refused_and_named(api, ids, endpoint):
    for path, values in BODIES[str(endpoint)].items():
        body = endpoint.filled(ids)[1]
        if path.endswith(("externalId", "source")) and "access" in endpoint.path:
            body.pop("contentId")
        for value in values:
            reply = endpoint.send(api, ids, json=with_value(body, path, value))
            assert reply.status == 422, (path, value)
            assert reply.error["param"].startswith(path), (path, value)
