"""OpenAPI examples of policies."""

from kit.openapi.examples import Operation, example_error, example_outcomes, example_page, more

POLICY_ID = "pol_01kd9wgz5tfz0b2m8n4qah6v3e"
CREATED = "2026-01-31T09:00:00.000000Z"
UPDATED = "2026-02-14T16:30:00.000000Z"
RULES: list[dict[str, object]] = [
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
TESTS: list[dict[str, object]] = [
    {
        "name": "Commercial customers read everything",
        "requester": {
            "id": "org_acme",
            "licenses": [{"licenseType": "commercial", "expiresAt": "2027-01-01T00:00:00Z"}],
        },
        "content": {"type": "report", "tags": ["markets"]},
        "permission": "commercial_use",
        "at": "2026-02-01T12:00:00Z",
        "expect": {"allowed": True, "matchedRule": 0},
    },
    {
        "name": "Nobody reads without a licence",
        "requester": {"id": "anyone"},
        "expect": {"allowed": False, "reason": "no_license"},
    },
]
NEW_POLICY: dict[str, object] = {
    "externalId": "plan-commercial",
    "name": "Commercial use",
    "description": "For licensed companies.",
    "rules": RULES,
    "defaultAction": "deny",
    "tests": TESTS,
    "metadata": {"owner": "sales"},
}
POLICY: dict[str, object] = {
    "id": POLICY_ID,
    "object": "policy",
    **NEW_POLICY,
    "mode": "enforce",
    "version": 1,
    "created": CREATED,
}
MORE = more(86)
NEXT_POLICY = {**POLICY, "version": 2, "updated": UPDATED}
BULK: dict[str, object] = {
    "items": [
        NEW_POLICY,
        {"externalId": "plan-press", "defaultAction": "deny"},
        {"description": "For readers."},
    ]
}
BULK_OUTCOMES = example_outcomes(
    "policy",
    (201, POLICY, None),
    (200, {**NEXT_POLICY, "id": "pol_01kd9wh2v4x7z0b3d6f9h2j5k8", "externalId": "plan-press"}, None),
    (422, None, example_error("invalid_request", "validation_error", "This field is required.", "name")),
)

OPERATIONS = {
    "GET /v1/policies": Operation("listPolicies", example_page(NEXT_POLICY, **MORE)),
    "POST /v1/policies": Operation("createPolicy", POLICY, NEW_POLICY),
    "POST /v1/policies/bulk": Operation("upsertPolicies", BULK_OUTCOMES, BULK),
    "GET /v1/policies/{id}": Operation("getPolicy", NEXT_POLICY),
    "PATCH /v1/policies/{id}": Operation("updatePolicy", NEXT_POLICY, {"rules": RULES}),
    "DELETE /v1/policies/{id}": Operation(
        "deletePolicy", {"id": POLICY_ID, "object": "policy", "deleted": True}, codes=("resource_in_use",)
    ),
    "GET /v1/policies/{id}/versions": Operation("listPolicyVersions", example_page(NEXT_POLICY, POLICY)),
    "POST /v1/policies/{id}/rollback": Operation(
        "rollbackPolicy", {**POLICY, "version": 3, "updated": UPDATED}, {"version": 1}
    ),
}
