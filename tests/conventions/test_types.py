from typing import Any

from tests.conventions.endpoints import ENDPOINTS, each_with_body

Values = tuple[Any, ...]
TEXT, NUMBER, TRUTH, ARRAY, OBJECT = "12", 12, True, [], {}
NOT_A_TEXT: Values = (NUMBER, 1.5, TRUTH, ARRAY, OBJECT)
NOT_AN_INTEGER: Values = (TEXT, 1.5, 12.0, TRUTH, ARRAY, OBJECT)
NOT_A_BOOLEAN: Values = ("true", 1, 0, ARRAY, OBJECT)
NOT_AN_ARRAY: Values = (TEXT, NUMBER, TRUTH, OBJECT)
NOT_AN_OBJECT: Values = (TEXT, NUMBER, TRUTH, ARRAY)
NOT_AN_AMOUNT: Values = ("twelve", "1e2", TRUTH, ARRAY, OBJECT)
RULE = {"action": "allow", "conditions": {"default": True}}


def fields(names: str, *values: Any) -> dict[str, Values]:
    """Return these values of wrong types for each field."""
    return dict.fromkeys(names.split(), values)


# For each body: fields by path, and values of wrong types. They are None, too, where null is refused.
CONTENT = {
    **fields("externalId title type source policyId status", *NOT_A_TEXT),
    **fields("metadata.author metadata.publishedAt metadata.category", *NOT_A_TEXT),
    **fields("tags metadata.tags", *NOT_AN_ARRAY),
    "metadata": NOT_AN_OBJECT,
    "metadata.wordCount": NOT_AN_INTEGER,
    "tags[0]": (*NOT_A_TEXT, None),
}
DRAFT = {
    "defaultAction": NOT_A_TEXT,
    "rules": NOT_AN_ARRAY,
    "rules[0]": NOT_AN_OBJECT,
    "rules[0].priority": (*NOT_AN_INTEGER, None),
    "rules[0].permissions": (*NOT_AN_ARRAY, None),
    "rules[0].conditions.licenseType": (NUMBER, TRUTH, OBJECT, None),
    **fields("rules[0].action rules[0].permissions[0] rules[0].message", *NOT_A_TEXT, None),
    **fields("rules[0].conditions rules[0].rateLimit", *NOT_AN_OBJECT, None),
    **fields("rules[0].conditions.hasValidLicense rules[0].conditions.default", *NOT_A_BOOLEAN, None),
}
POLICY = {**DRAFT, **fields("name description mode", *NOT_A_TEXT)}
CHECK = {
    **fields("contentId externalId source requester.name requester.licenseType permission", *NOT_A_TEXT),
    **fields("context.ip context.userAgent", *NOT_A_TEXT),
    **fields("requester.hasValidLicense dryRun explain", *NOT_A_BOOLEAN),
    "requester": (NUMBER, TRUTH, ARRAY),
    "requester.id": (*NOT_A_TEXT, None),
    "context": NOT_AN_OBJECT,
}
BATCH = {**CHECK, "checks": NOT_AN_ARRAY, "checks[0]": NOT_AN_OBJECT, "checks[0].correlationId": NOT_A_TEXT}
BATCH |= {f"checks[0].{name}": values for name, values in CHECK.items()}
KEY = {
    **fields("name type expiresAt", *NOT_A_TEXT),
    **fields("permissions allowedIps allowedHosts", *NOT_AN_ARRAY),
    **fields("permissions[0] allowedIps[0] allowedHosts[0]", *NOT_A_TEXT, None),
    "rateLimit": NOT_AN_OBJECT,
}
LICENSE = {
    **fields("requesterId licenseType contentIds[0] tags[0] policyIds[0]", *NOT_A_TEXT, None),
    **fields("requesterName startsAt expiresAt", *NOT_A_TEXT),
    **fields("contentIds tags policyIds", *NOT_AN_ARRAY),
    **fields("price pricePerAccess", *NOT_AN_OBJECT),
    **fields("price.amount pricePerAccess.amount", TRUTH, ARRAY, OBJECT, None),
    **fields("price.currency pricePerAccess.currency", *NOT_A_TEXT, None),
}
REQUESTER = {
    **fields("name notes", *NOT_A_TEXT),
    "email": (*NOT_A_TEXT, "nobody"),
    "metadata": NOT_AN_OBJECT,
    "metadata.seats": (ARRAY, OBJECT),
}
SITE = {
    **fields("host aliases[0] ask mode unknown rules[0].pattern", *NOT_A_TEXT, None),
    **fields("aliases rules", *NOT_AN_ARRAY),
    "rules[0]": (*NOT_AN_OBJECT, None),
    "rules[0].policyId": NOT_A_TEXT,
}
ADJUSTMENT = {
    **fields("currency occurredAt licenseId licenseType decisionId contentId", *NOT_A_TEXT),
    **fields("requesterId description externalId", *NOT_A_TEXT),
    "amount": (*NOT_AN_AMOUNT, None),
}
SIMULATION = {
    **DRAFT,
    **fields("startDate endDate", *NOT_A_TEXT),
    "period": (*NOT_A_TEXT, None),
    "limit": NOT_AN_INTEGER,
}
WEBHOOK = {
    **fields("url events[0] status headers.X-Auth", *NOT_A_TEXT, None),
    "events": NOT_AN_ARRAY,
    "description": NOT_A_TEXT,
    "headers": NOT_AN_OBJECT,
}
WALLET_TERMS = {
    **fields("floor thresholds[0].value refill.rollover.min refill.rollover.max", *NOT_AN_AMOUNT),
    **fields("refill refill.rollover", *NOT_AN_OBJECT),
    "thresholds": NOT_AN_ARRAY,
    "thresholds[0]": (*NOT_AN_OBJECT, None),
    "thresholds[0].percent": NOT_AN_INTEGER,
    "refill.amount": (*NOT_AN_AMOUNT, None),
    "refill.every": (*NOT_A_TEXT, None),
    "refill.anchor": NOT_A_TEXT,
}
WALLET = {**fields("requesterId unit", *NOT_A_TEXT, None), "licenseId": NOT_A_TEXT, **WALLET_TERMS}
GRANT = {
    **fields("amount paid.amount", *NOT_AN_AMOUNT, None),
    **fields("effectiveAt expiresAt externalId", *NOT_A_TEXT),
    "kind": (*NOT_A_TEXT, None),
    "priority": NOT_AN_INTEGER,
    "paid": NOT_AN_OBJECT,
}
PAYMENT = {
    **fields("requesterId kind currency", *NOT_A_TEXT, None),
    **fields("receivedAt externalId note", *NOT_A_TEXT),
    "amount": (*NOT_AN_AMOUNT, None),
}
ROWS = fields("items", *NOT_AN_ARRAY, None)
BODIES: dict[str, dict[str, Values]] = {
    "POST /v1/content": CONTENT,
    "PATCH /v1/content/{content}": CONTENT,
    "POST /v1/content/bulk": ROWS,
    "POST /v1/licenses/bulk": ROWS,
    "POST /v1/api-keys/bulk": ROWS,
    "POST /v1/policies": POLICY,
    "PATCH /v1/policies/{policy}": POLICY,
    "POST /v1/policies/bulk": ROWS,
    "POST /v1/policies/{policy}/rollback": fields("version", *NOT_AN_INTEGER, None),
    "POST /v1/policies/{policy}/simulate": SIMULATION,
    "POST /v1/policies/lint": DRAFT,
    "POST /v1/requesters": {**REQUESTER, "id": (*NOT_A_TEXT, None)},
    "PATCH /v1/requesters/{requester}": REQUESTER,
    "POST /v1/requesters/{requester}/portal-sessions": {
        "scopes": NOT_AN_ARRAY,
        "scopes[0]": (*NOT_A_TEXT, None),
        "returnUrl": NOT_A_TEXT,
    },
    "POST /v1/requesters/{requester}/merge": fields("into", *NOT_A_TEXT, None),
    "POST /v1/licenses": LICENSE,
    "PATCH /v1/licenses/{license}": LICENSE,
    "POST /v1/license-clients": {"requesterId": (*NOT_A_TEXT, None), "requesterName": NOT_A_TEXT, "name": NOT_A_TEXT},
    "POST /v1/license-clients/{client}/rotate": fields("overlapSeconds", *NOT_AN_INTEGER),
    "POST /v1/sites": SITE,
    "PATCH /v1/sites/{site}": SITE,
    "POST /v1/access/check": CHECK,
    "POST /v1/access/check/batch": BATCH,
    "POST /v1/access/offers/batch": {**ROWS, "items[0]": (*NOT_AN_OBJECT, None),
        **fields("items[0].url requesterId permission", *NOT_A_TEXT)},
    "POST /v1/api-keys": KEY,
    "POST /v1/api-keys/find": fields("key", *NOT_A_TEXT, None),
    "PATCH /v1/api-keys/{key}": KEY,
    "PATCH /v1/accounts/me": fields("unknownHost visitorAddresses timeZone currency", *NOT_A_TEXT),
    "POST /v1/revenue": ADJUSTMENT,
    "POST /v1/refunds": {**fields("entryId licenseId decisionId reason externalId", *NOT_A_TEXT),
        "amount": NOT_AN_AMOUNT},
    "POST /v1/payments": PAYMENT,
    "POST /v1/payments/{payment}/void": fields("reason", *NOT_A_TEXT, None),
    "POST /v1/wallets": WALLET,
    "PATCH /v1/wallets/{wallet}": WALLET_TERMS,
    "POST /v1/wallets/{wallet}/grants": GRANT,
    "POST /v1/api-keys/{key}/rotate": fields("overlapSeconds", *NOT_AN_INTEGER),
    "POST /v1/webhooks": WEBHOOK,
    "PATCH /v1/webhooks/{webhook}": WEBHOOK,
    "POST /v1/webhooks/{webhook}/recover": {"since": NOT_A_TEXT, "dryRun": NOT_A_BOOLEAN},
    "POST /v1/events/{event}/redeliver": fields("webhookId", *NOT_A_TEXT, None),
}  # fmt: skip


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
