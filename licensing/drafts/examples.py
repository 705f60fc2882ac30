"""Examples of lint and simulations for the OpenAPI document."""

from kit.openapi.examples import Operation
from licensing.access.examples import DECISION_ID
from licensing.content.examples import CONTENT_ID
from licensing.policies.examples import POLICY_ID, RULES, UPDATED

LINT: dict[str, object] = {
    "object": "policy_lint",
    "findings": [
        {
            "level": "warning",
            "code": "duplicate_rule",
            "path": "rules[2]",
            "message": "Says the same as rules[1], which is tried before it: its priority is 1, this one's 5.",
        }
    ],
}
SIMULATION: dict[str, object] = {
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

OPERATIONS = {
    "POST /v1/policies/lint": Operation("lintPolicy", LINT, {"rules": [*RULES, RULES[1]], "defaultAction": "deny"}),
    "POST /v1/policies/{id}/simulate": Operation("simulatePolicy", SIMULATION, {"rules": RULES, "period": "30d"}),
}
