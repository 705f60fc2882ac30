"""OpenAPI examples of API keys, webhooks and the audit log."""

from kit.openapi.examples import Operation, example_error, example_outcomes, example_page

KEY_ID = "key_01kd9w9r2hf5tbnw4c6m8z3qjx"
NEW_KEY: dict[str, object] = {
    "name": "Edge servers",
    "type": "secret",
    "permissions": ["access:check", "content:read"],
    "allowedIps": ["203.0.113.0/24", "2001:db8::7"],
    "allowedHosts": ["news.example"],
    "rateLimit": {"requests": 20, "period": "minute"},
    "expiresAt": "2036-01-31T00:00:00Z",
}
KEY: dict[str, object] = {
    "id": KEY_ID,
    "object": "api_key",
    **NEW_KEY,
    "prefix": "svc_sk_7Qf2Lx",
    "expiresAt": "2036-01-31T00:00:00.000000Z",
    "createdAt": "2026-01-31T09:00:00.000000Z",
    "lastUsedAt": "2026-02-14T16:30:00.000000Z",
    "revokedAt": None,
}
# Not a valid key: its checksum is wrong.
CREATED = {**KEY, "lastUsedAt": None, "key": "svc_sk_7Qf2LxEXAMPLEEXAMPLEEXAMPLE0000000"}

BULK: dict[str, object] = {
    "items": [
        NEW_KEY,
        {"id": KEY["id"], "allowedIps": ["203.0.113.0/24"]},
        {"name": "Website", "type": "public", "permissions": ["content:write"]},
    ]
}
MAY_ONLY_READ = "A public key can only read: it cannot have content:write."
BULK_OUTCOMES = example_outcomes(
    "apiKey",
    (201, {**CREATED, "id": "key_01kd9x4v8meq3s7b5d1p6t0ncy"}, None),
    (200, {**KEY, "allowedIps": ["203.0.113.0/24"]}, None),
    (422, None, example_error("invalid_request", "validation_error", MAY_ONLY_READ, "permissions[0]")),
)

ENTRY: dict[str, object] = {
    "id": "aud_01kd9wt2c6g8s4yzp9v3b7m1xq",
    "object": "audit_entry",
    "action": "content.updated",
    "actorType": "key",
    "actorId": KEY["id"],
    "actorName": "Edge servers (svc_sk_7Qf2Lx…)",
    "resourceType": "content",
    "resourceId": "cnt_01kd9wjm9kepqvj3h1k7c8x2rt",
    "resourceTitle": "Markets in January",
    "changes": {"status": ["active", "archived"], "metadata.category": [None, "finance"]},
    "requestId": "req_019b76da80007cc0a5c1d3a1f0b6e7f2",
    "address": "203.0.113.9",
    "created": "2026-02-14T16:30:00.000000Z",
}

NEW_ENDPOINT: dict[str, object] = {
    "url": "https://hooks.partner.example/licensing",
    "events": ["content.*", "license.revoked"],
    "description": "Partner's index",
    "headers": {"Authorization": "Bearer of-the-receiver"},
}
ENDPOINT: dict[str, object] = {
    "id": "we_01kd9x0f3t5v7x9z1c3e5g7j9m",
    "object": "webhook_endpoint",
    "url": NEW_ENDPOINT["url"],
    "events": NEW_ENDPOINT["events"],
    "description": NEW_ENDPOINT["description"],
    "accessFilter": None,
    "status": "enabled",
    "disabledReason": None,
    "headerNames": ["Authorization"],
    "failingSince": None,
    "created": "2026-01-31T09:00:00.000000Z",
    "updated": "2026-01-31T09:00:00.000000Z",
}
# The secret from the specification's example.
WITH_SECRET = {**ENDPOINT, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
EVENT: dict[str, object] = {
    "id": "evt_01kd9x1q4r6t8v0x2z4b6d8f0h",
    "object": "event",
    "type": "api_key.revoked",
    "created": "2026-02-14T16:45:00.000000Z",
    "data": {**KEY, "revokedAt": "2026-02-14T16:45:00.000000Z"},
    "previous": {"revokedAt": None},
}
PING: dict[str, object] = {
    "id": "evt_01kd9x2s5v7x9z1b3d5f7h9k1m",
    "object": "event",
    "type": "ping",
    "created": "2026-02-14T16:50:00.000000Z",
    "data": ENDPOINT,
}
ATTEMPT: dict[str, object] = {
    "id": "del_01kd9x3v6x8z0b2d4f6h8k0m2p",
    "object": "webhook_delivery",
    "webhookId": ENDPOINT["id"],
    "eventId": EVENT["id"],
    "eventType": "api_key.revoked",
    "attempt": 1,
    "succeeded": False,
    "status": 503,
    "error": None,
    "response": "Back in a minute",
    "durationMs": 41,
    "nextAttempt": "2026-02-14T16:45:05.300000Z",
    "created": "2026-02-14T16:45:00.300000Z",
}


LIMIT: dict[str, object] = {
    "object": "limit",
    "scope": "rule",
    "percent": 100,
    "limit": 100,
    "used": 100,
    "period": "hour",
    "reset": 1771088400,
    "policyId": "pol_01kd9wgz5tfz0b2m8n4qah6v3e",
    "ruleIndex": 0,
    "requester": {"id": "org_acme", "name": "Acme"},
}


ACCOUNT: dict[str, object] = {
    "id": "acc_01kd9w7h3n5q8t1v4x6z9b2d0f",
    "object": "account",
    "name": "Saltmarsh Review",
    "plan": "professional",
    "limits": {
        "minute": {"limit": 300, "used": 12, "remaining": 288, "reset": 1771086660},
        "day": {"limit": 100_000, "used": 8_412, "remaining": 91_588, "reset": 1771113600},
    },
    "edgeLimits": {
        "minute": {"limit": 3_000, "used": 241, "remaining": 2_759, "reset": 1771086660},
        "day": {"limit": 1_000_000, "used": 96_400, "remaining": 903_600, "reset": 1771113600},
    },
    "unknownHost": "allow",
    "unlistedSigners": "deny",
    "visitorAddresses": "truncated",
    "timeZone": "Europe/Berlin",
    "currency": "EUR",
    "key": {
        "id": KEY["id"],
        "name": KEY["name"],
        "type": KEY["type"],
        "permissions": KEY["permissions"],
        "expiresAt": KEY["expiresAt"],
    },
    "created": "2026-01-05T08:00:00.000000Z",
}

OPERATIONS = {
    "GET /v1/accounts/me": Operation("getOwnAccount", ACCOUNT),
    "PATCH /v1/accounts/me": Operation(
        "updateOwnAccount", {**ACCOUNT, "unknownHost": "deny"}, {"unknownHost": "deny"}
    ),
    "GET /v1/api-keys": Operation("listApiKeys", example_page(KEY)),
    "POST /v1/api-keys": Operation("createApiKey", CREATED, NEW_KEY),
    "POST /v1/api-keys/bulk": Operation("upsertApiKeys", BULK_OUTCOMES, BULK),
    "POST /v1/api-keys/find": Operation("findApiKey", KEY, {"key": CREATED["key"]}, codes=("resource_not_found",)),
    "GET /v1/api-keys/{id}": Operation("getApiKey", KEY),
    "PATCH /v1/api-keys/{id}": Operation(
        "updateApiKey",
        {**KEY, "allowedIps": ["203.0.113.0/24"]},
        {"allowedIps": ["203.0.113.0/24"]},
        codes=("resource_revoked",),
    ),
    "DELETE /v1/api-keys/{id}": Operation("revokeApiKey", {**KEY, "revokedAt": "2026-02-14T16:45:00.000000Z"}),
    "POST /v1/api-keys/{id}/rotate": Operation(
        "rotateApiKey",
        {**CREATED, "id": "key_01kd9x4v8meq3s7b5d1p6t0ncy"},
        {"overlapSeconds": 3600},
    ),
    "GET /v1/audit": Operation("listAuditEntries", example_page(ENTRY)),
    "GET /v1/audit/{id}": Operation("getAuditEntry", ENTRY),
    "GET /v1/events": Operation("listEvents", example_page(EVENT)),
    "GET /v1/events/{id}": Operation("getEvent", EVENT),
    "POST /v1/events/{id}/redeliver": Operation("redeliverEvent", EVENT, {"webhookId": ENDPOINT["id"]}),
    "GET /v1/webhooks": Operation("listWebhooks", example_page(ENDPOINT)),
    "POST /v1/webhooks": Operation("createWebhook", WITH_SECRET, NEW_ENDPOINT),
    "GET /v1/webhooks/{id}": Operation("getWebhook", ENDPOINT),
    "PATCH /v1/webhooks/{id}": Operation("updateWebhook", {**ENDPOINT, "events": ["*"]}, {"events": ["*"]}),
    "DELETE /v1/webhooks/{id}": Operation(
        "deleteWebhook", {"id": ENDPOINT["id"], "object": "webhook_endpoint", "deleted": True}
    ),
    "POST /v1/webhooks/{id}/rotate": Operation("rotateWebhook", WITH_SECRET),
    "POST /v1/webhooks/{id}/ping": Operation("pingWebhook", PING),
    "GET /v1/webhooks/{id}/deliveries": Operation("listWebhookDeliveries", example_page(ATTEMPT)),
    "POST /v1/webhooks/{id}/recover": Operation(
        "recoverWebhook",
        {
            "object": "webhook_recovery",
            "webhookId": ENDPOINT["id"],
            "since": "2026-02-14T00:00:00.000000Z",
            "dryRun": False,
            "events": 12,
            "firstEvent": {"id": EVENT["id"], "type": EVENT["type"], "created": EVENT["created"]},
            "lastEvent": {
                "id": "evt_01kd9x7y3m5p7r9t1v3x5z7b9d",
                "type": "license.revoked",
                "created": "2026-02-15T08:30:00.000000Z",
            },
        },
        {"since": "2026-02-14T00:00:00Z"},
        codes=("resource_in_use",),
    ),
}
