"""OpenAPI examples of checks and decisions."""

from kit.openapi.examples import Operation, example_page
from licensing.content.examples import CONTENT_ID
from licensing.licenses.examples import EXPIRES, LICENSE_ID
from licensing.policies.examples import POLICY_ID, UPDATED

DECISION_ID = "dec_01kd9wq3y8e4sbx6t5j9w2m7ka"
REQUESTER = {"id": "org_acme", "name": "Acme", "licenseType": "commercial", "hasValidLicense": True}
CHECK: dict[str, object] = {
    "externalId": "herring-quota",  # in the demo account, where the example is allowed
    "requester": REQUESTER,
    "permission": "commercial_use",
    "context": {"ip": "203.0.113.9", "userAgent": "ExampleBot/1.0"},
}
ALLOWED: dict[str, object] = {
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
TRACE: list[dict[str, object]] = [
    {"index": 0, "priority": 1, "action": "allow", "matched": True, "decisive": True, "failed": None},
    {"index": 1, "priority": 99, "action": "deny", "matched": True, "decisive": False, "failed": None},
]
OFFER: dict[str, object] = {
    "object": "access_offer",
    "url": "https://publisher.example/premium/a",
    "contentId": CONTENT_ID,
    "requesterId": None,
    "permission": "read",
    "allowed": False,
    "reason": "no_license",
    "charge": None,
    "policyId": POLICY_ID,
    "policyVersion": 2,
    "offers": [
        {
            "licenseType": "commercial",
            "permissions": ["full_access"],
            "pricePerAccess": {"amount": 0.01, "currency": "USD"},
        }
    ],
}
NO_OFFER: dict[str, object] = {
    "object": "access_offer",
    "error": {
        "code": "resource_not_found",
        "message": "There is no content item with the contentId 'cnt_01k9d4y2z0e5v8q7n3t6w1x0ab'.",
        "type": "not_found_error",
        "param": "contentId",
    },
}
UNDECIDED: dict[str, object] = {
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

OPERATIONS = {
    "POST /v1/access/check": Operation("checkAccess", ALLOWED, CHECK, codes=("resource_not_found",)),
    "POST /v1/access/check/batch": Operation(
        "checkAccessBatch",
        example_page({**ALLOWED, "correlationId": "first"}, UNDECIDED),
        {
            "requester": REQUESTER,
            "permission": "commercial_use",
            "checks": [
                {"contentId": CONTENT_ID, "correlationId": "first"},
                {"externalId": "article-18", "correlationId": "second"},
            ],
        },
    ),
    "GET /v1/access/offers": Operation("getOffers", OFFER, codes=("resource_not_found",)),
    "POST /v1/access/offers/batch": Operation(
        "getOffersBatch",
        example_page(OFFER, NO_OFFER),
        {"items": [{"url": "https://publisher.example/premium/a"}, {"contentId": "cnt_nope"}], "permission": "read"},
    ),
    "GET /v1/access/decisions": Operation("listDecisions", example_page(ALLOWED)),
    "GET /v1/access/decisions/{id}": Operation(
        "getDecision", {**ALLOWED, "context": CHECK["context"], "trace": TRACE}
    ),
}
