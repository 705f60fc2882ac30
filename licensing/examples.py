"""What the OpenAPI document shows of content, policies and checks: one publisher's story, from item to decision."""

from typing import Any

from kit.rest.openapi import Operation

CONTENT_ID = "cnt_01kd9wjm9kepqvj3h1k7c8x2rt"
POLICY_ID = "pol_01kd9wgz5tfz0b2m8n4qah6v3e"
LICENSE_ID = "lic_01kd9wk2c4f7m9x3p6rq8t1vzh"
DECISION_ID = "dec_01kd9wq3y8e4sbx6t5j9w2m7ka"
CREATED = "2026-01-31T09:00:00.000000Z"
EXPIRES = "2027-01-31T00:00:00.000000Z"
UPDATED = "2026-02-14T16:30:00.000000Z"

RULES: list[dict[str, Any]] = [
    {
        "action": "allow",
        "priority": 1,
        "conditions": {"licenseType": ["commercial", "enterprise"], "hasValidLicense": True},
        "permissions": ["full_access"],
        "rateLimit": {"requests": 100, "period": "hour"},
    },
    {
        "action": "deny",
        "priority": 99,
        "conditions": {"default": True},
        "message": "A commercial licence is required.",
    },
]
NEW_POLICY: dict[str, Any] = {
    "name": "Commercial use",
    "description": "For licensed companies.",
    "rules": RULES,
    "defaultAction": "deny",
}
POLICY: dict[str, Any] = {
    "id": POLICY_ID,
    "object": "policy",
    **NEW_POLICY,
    "mode": "enforce",
    "version": 1,
    "created": CREATED,
}
NEXT_POLICY = {**POLICY, "version": 2, "updated": UPDATED}

METADATA: dict[str, Any] = {
    "author": "Ada Byron",
    "publishedAt": "2026-01-31",
    "category": "finance",
    "wordCount": 1200,
    "edition": "morning",
}
NEW_CONTENT: dict[str, Any] = {
    "externalId": "article-17",
    "title": "Markets in January",
    "type": "article",
    "source": "https://publisher.example/markets-in-january",
    "policyId": POLICY_ID,
    "metadata": METADATA,
    "tags": ["markets", "2026"],
}
CONTENT: dict[str, Any] = {
    "id": CONTENT_ID,
    "object": "content",
    **NEW_CONTENT,
    "status": "active",
    "created": CREATED,
    "updated": CREATED,
}
BULK: dict[str, Any] = {"items": [NEW_CONTENT, {"id": CONTENT_ID, "status": "archived"}, {"type": "report"}]}
BULK_OUTCOMES: dict[str, Any] = {
    "object": "list",
    "data": [
        {"index": 0, "status": 201, "content": CONTENT, "error": None},
        {
            "index": 1,
            "status": 409,
            "content": None,
            "error": {
                "code": "resource_already_exists",
                "message": "Row 0 is about the same item.",
                "type": "conflict_error",
                "param": "id",
            },
        },
        {
            "index": 2,
            "status": 422,
            "content": None,
            "error": {
                "code": "invalid_request",
                "message": "This field is required.",
                "type": "validation_error",
                "param": "title",
            },
        },
    ],
    "hasMore": False,
    "totalCount": 3,
}
STATS = {"totalRequests": 42, "allowedRequests": 40, "deniedRequests": 2}

NEW_LICENSE: dict[str, Any] = {
    "requesterId": "org_acme",
    "requesterName": "Acme",
    "licenseType": "commercial",
    "tags": ["markets"],
    "startsAt": "2026-01-31T00:00:00Z",
    "expiresAt": "2027-01-31T00:00:00Z",
    "price": {"amount": "1200.00", "currency": "EUR"},
    "pricePerAccess": {"amount": 0.05, "currency": "EUR"},
}
LICENSE: dict[str, Any] = {
    "id": LICENSE_ID,
    "object": "license",
    **NEW_LICENSE,
    "contentIds": [],
    "policyIds": [],
    "startsAt": "2026-01-31T00:00:00.000000Z",
    "expiresAt": EXPIRES,
    "price": {"amount": 1200, "currency": "EUR"},
    "status": "active",
    "revokedAt": None,
    "created": CREATED,
    "updated": CREATED,
}

SITE_ID = "site_01kd9wk9w6b2t5z8m4hq7r1c3x"
NEW_SITE: dict[str, Any] = {
    "host": "publisher.example",
    "mode": "observe",
    "unknown": "allow",
    "rules": [{"pattern": "/premium/*", "policyId": POLICY_ID}, {"pattern": "/premium/samples/*", "policyId": None}],
}
SITE: dict[str, Any] = {"id": SITE_ID, "object": "site", **NEW_SITE, "created": CREATED, "updated": CREATED}

CRAWLER: dict[str, Any] = {
    "object": "crawler",
    "name": "ExampleBot",
    "crawlerClass": "ai_training",
    "operator": "Example AI",
    "userAgent": "ExampleBot",
    "requesterId": "crawler:examplebot",
    "addresses": ["203.0.113.0/24"],
    "sources": ["https://ai.example/examplebot.json"],
}

IMPORT: dict[str, Any] = {
    "id": "imp_01kd9wmd4g6s8z1x3c5v7b9n2m",
    "object": "content_import",
    "created": 950,
    "updated": 40,
    "unchanged": 8,
    "superseded": 1,
    "failed": 1,
    "rows": 1000,
    "started": CREATED,
    "finished": CREATED,
}

REQUESTER = {"id": "org_acme", "name": "Acme", "licenseType": "commercial", "hasValidLicense": True}
CHECK: dict[str, Any] = {
    "contentId": CONTENT_ID,
    "requester": REQUESTER,
    "permission": "commercial_use",
    "context": {"ip": "203.0.113.9", "userAgent": "ExampleBot/1.0"},
}
ALLOWED: dict[str, Any] = {
    "object": "access_decision",
    "id": DECISION_ID,
    "allowed": True,
    "reason": None,
    "message": None,
    "contentId": CONTENT_ID,
    "requester": {"id": "org_acme", "name": "Acme"},
    "permission": "commercial_use",
    "permissions": ["full_access"],
    "policyId": POLICY_ID,
    "policyVersion": 2,
    "matchedRule": {"index": 0, "priority": 1, "action": "allow"},
    "license": {"id": LICENSE_ID, "licenseType": "commercial", "expiresAt": EXPIRES, "source": "service"},
    "rateLimit": {"requests": 100, "period": "hour", "remaining": 99, "reset": 1771088400, "retryAfter": None},
    "charge": {"amount": 0.05, "currency": "EUR"},
    "cacheFor": 0,
    "dryRun": False,
    "created": UPDATED,
}
TRACE: list[dict[str, Any]] = [
    {"index": 0, "priority": 1, "action": "allow", "matched": True, "decisive": True, "failed": None},
    {"index": 1, "priority": 99, "action": "deny", "matched": True, "decisive": False, "failed": None},
]
LINT: dict[str, Any] = {
    "object": "policy_lint",
    "findings": [
        {
            "level": "warning",
            "code": "duplicate_rule",
            "path": "rules[2]",
            "message": "Says the same as rule 1, which is tried before it: its priority is 1, this one's 5.",
        }
    ],
}
SIMULATION: dict[str, Any] = {
    "object": "policy_simulation",
    "policyId": POLICY_ID,
    "policyVersion": None,
    "startDate": "2026-01-16T00:00:00.000000Z",
    "endDate": "2026-02-14T23:59:59.999999Z",
    "since": "2026-01-31T10:12:00.000000Z",
    "truncated": False,
    "total": 42,
    "unchanged": 41,
    "allowedToDenied": 1,
    "deniedToAllowed": 0,
    "reasonChanged": 0,
    "byReason": [
        {"reason": "no_license", "before": 2, "after": 2},
        {"reason": "policy_denied", "before": 0, "after": 1},
    ],
    "byRequester": [{"id": "org_acme", "name": "Acme", "total": 40, "allowedToDenied": 1, "deniedToAllowed": 0}],
    "byContent": [
        {"id": CONTENT_ID, "title": "Markets in January", "total": 42, "allowedToDenied": 1, "deniedToAllowed": 0}
    ],
    "revenueAtStake": [{"amount": 0.25, "currency": "EUR"}],
    "examples": [
        {
            "decisionId": DECISION_ID,
            "contentId": CONTENT_ID,
            "requesterId": "org_acme",
            "created": UPDATED,
            "before": {"allowed": True, "reason": None},
            "after": {"allowed": False, "reason": "policy_denied", "matchedRule": 1},
        }
    ],
}
UNDECIDED: dict[str, Any] = {
    "object": "access_decision",
    "allowed": False,
    "error": {
        "code": "resource_not_found",
        "message": "There is no content item with the externalId 'article-18'.",
        "type": "not_found_error",
        "param": "externalId",
    },
    "correlationId": "second",
}


def page(*items: dict[str, Any], **further: Any) -> dict[str, Any]:
    return {"object": "list", "data": list(items), "hasMore": False, "totalCount": len(items), **further}


MORE = {
    "hasMore": True,
    "nextCursor": "AAZJrkjIQAABmxPJRTN3brkXjP3oOg0Vf0sVq8GeHc3p5wQ2mUnx",
    "totalCount": 86,
}

OPERATIONS = {
    "GET /v1/content": Operation("listContent", page(CONTENT, **MORE)),
    "POST /v1/content": Operation("createContent", CONTENT, NEW_CONTENT, codes=("resource_already_exists",)),
    "POST /v1/content/bulk": Operation("upsertContent", BULK_OUTCOMES, BULK),
    "GET /v1/content/{id}": Operation("getContent", {**CONTENT, "stats": STATS}),
    "PATCH /v1/content/{id}": Operation(
        "updateContent",
        {**CONTENT, "metadata": {**METADATA, "category": "economy"}, "updated": UPDATED, "stats": STATS},
        {"metadata": {"category": "economy"}, "status": "active"},
        codes=("resource_already_exists",),
    ),
    "DELETE /v1/content/{id}": Operation("deleteContent", {"id": CONTENT_ID, "object": "content", "deleted": True}),
    "GET /v1/policies": Operation("listPolicies", page(NEXT_POLICY, **MORE)),
    "POST /v1/policies": Operation("createPolicy", POLICY, NEW_POLICY),
    "GET /v1/policies/{id}": Operation("getPolicy", NEXT_POLICY),
    "PATCH /v1/policies/{id}": Operation("updatePolicy", NEXT_POLICY, {"rules": RULES}),
    "DELETE /v1/policies/{id}": Operation(
        "deletePolicy", {"id": POLICY_ID, "object": "policy", "deleted": True}, codes=("resource_in_use",)
    ),
    "GET /v1/policies/{id}/versions": Operation("listPolicyVersions", page(NEXT_POLICY, POLICY)),
    "POST /v1/policies/{id}/rollback": Operation(
        "rollbackPolicy", {**POLICY, "version": 3, "updated": UPDATED}, {"version": 1}
    ),
    "POST /v1/policies/lint": Operation("lintPolicy", LINT, {"rules": [*RULES, RULES[1]], "defaultAction": "deny"}),
    "POST /v1/policies/{id}/simulate": Operation("simulatePolicy", SIMULATION, {"rules": RULES, "period": "30d"}),
    "GET /v1/sites": Operation("listSites", page(SITE)),
    "POST /v1/sites": Operation("createSite", SITE, NEW_SITE, codes=("resource_already_exists",)),
    "GET /v1/sites/{id}": Operation("getSite", SITE),
    "PATCH /v1/sites/{id}": Operation(
        "updateSite",
        {**SITE, "mode": "enforce", "updated": UPDATED},
        {"mode": "enforce"},
        codes=("resource_already_exists",),
    ),
    "DELETE /v1/sites/{id}": Operation("deleteSite", {"id": SITE_ID, "object": "site", "deleted": True}),
    "GET /v1/crawlers": Operation(
        "listCrawlers", {"object": "crawler_table", "date": "2026-11-21", "data": [CRAWLER]}
    ),
    "GET /v1/licenses": Operation("listLicenses", page(LICENSE, **MORE)),
    "POST /v1/licenses": Operation("createLicense", LICENSE, NEW_LICENSE),
    "GET /v1/licenses/{id}": Operation("getLicense", LICENSE),
    "PATCH /v1/licenses/{id}": Operation(
        "updateLicense",
        {**LICENSE, "expiresAt": "2028-01-31T00:00:00.000000Z", "updated": UPDATED},
        {"expiresAt": "2028-01-31T00:00:00Z"},
        codes=("resource_revoked",),
    ),
    "POST /v1/licenses/{id}/revoke": Operation(
        "revokeLicense", {**LICENSE, "status": "revoked", "revokedAt": UPDATED, "updated": UPDATED}
    ),
    "POST /v1/access/check": Operation("checkAccess", ALLOWED, CHECK, codes=("resource_not_found",)),
    "POST /v1/access/check/batch": Operation(
        "checkAccessBatch",
        page({**ALLOWED, "correlationId": "first"}, UNDECIDED),
        {
            "requester": REQUESTER,
            "permission": "commercial_use",
            "checks": [
                {"contentId": CONTENT_ID, "correlationId": "first"},
                {"externalId": "article-18", "correlationId": "second"},
            ],
        },
    ),
    "GET /v1/access/decisions": Operation("listDecisions", page(ALLOWED)),
    "GET /v1/access/decisions/{id}": Operation(
        "getDecision", {**ALLOWED, "context": CHECK["context"], "trace": TRACE}
    ),
}
