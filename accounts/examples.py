"""What the OpenAPI document shows of API keys and the audit log."""

from typing import Any

from kit.rest.openapi import Operation

NEW_KEY: dict[str, Any] = {
    "name": "Edge servers",
    "type": "secret",
    "permissions": ["access:check", "content:read"],
    "allowedIps": ["203.0.113.0/24", "2001:db8::7"],
    "expiresAt": "2027-01-31T00:00:00Z",
}
KEY: dict[str, Any] = {
    "id": "key_01kd9w9r2hf5tbnw4c6m8z3qjx",
    "object": "api_key",
    **NEW_KEY,
    "prefix": "svc_sk_7Qf2Lx",
    "expiresAt": "2027-01-31T00:00:00.000000Z",
    "createdAt": "2026-01-31T09:00:00.000000Z",
    "lastUsedAt": "2026-02-14T16:30:00.000000Z",
    "revokedAt": None,
}
# Not a key: its checksum is wrong.
CREATED = {**KEY, "lastUsedAt": None, "key": "svc_sk_7Qf2LxEXAMPLEEXAMPLEEXAMPLE0000000"}

ENTRY: dict[str, Any] = {
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

OPERATIONS = {
    "GET /v1/api-keys": Operation("listApiKeys", {"object": "list", "data": [KEY], "hasMore": False, "totalCount": 1}),
    "POST /v1/api-keys": Operation("createApiKey", CREATED, NEW_KEY),
    "GET /v1/api-keys/{id}": Operation("getApiKey", KEY),
    "DELETE /v1/api-keys/{id}": Operation("revokeApiKey", {**KEY, "revokedAt": "2026-02-14T16:45:00.000000Z"}),
    "POST /v1/api-keys/{id}/rotate": Operation(
        "rotateApiKey",
        {**CREATED, "id": "key_01kd9x4v8meq3s7b5d1p6t0ncy"},
        {"overlapSeconds": 3600},
    ),
    "GET /v1/audit": Operation(
        "listAuditEntries", {"object": "list", "data": [ENTRY], "hasMore": False, "totalCount": 1}
    ),
    "GET /v1/audit/{id}": Operation("getAuditEntry", ENTRY),
}
