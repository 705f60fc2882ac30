"""OpenAPI examples of requesters."""

from kit.openapi.examples import Operation, example_page
from licensing.policies.examples import CREATED, MORE, UPDATED

NEW_REQUESTER: dict[str, object] = {
    "id": "org_acme",
    "name": "Acme",
    "email": "licensing@acme.example",
    "metadata": {"country": "DE", "seats": 25},
}
REQUESTER: dict[str, object] = {
    "object": "requester",
    **NEW_REQUESTER,
    "notes": None,
    "created": CREATED,
    "updated": None,
}
STATS = {"allowed": 1204, "denied": 31, "lastSeenAt": "2026-02-14T16:45:00.000000Z"}
ONE = {**REQUESTER, "stats": STATS}
PORTAL_REQUEST: dict[str, object] = {
    "scopes": ["licenses", "statements"],
    "returnUrl": "https://publisher.example/account",
}

OPERATIONS = {
    "GET /v1/requesters": Operation("listRequesters", example_page(REQUESTER, **MORE)),
    "POST /v1/requesters": Operation(
        "createRequester", {**REQUESTER, "stats": {"allowed": 0, "denied": 0, "lastSeenAt": None}}, NEW_REQUESTER
    ),
    "GET /v1/requesters/{id}": Operation("getRequester", ONE),
    "DELETE /v1/requesters/{id}": Operation(
        "deleteRequester",
        {"id": "org_acme", "object": "requester", "deleted": True, "pseudonym": "erased_5f0c2b7a91d3e64f08b1c2a7"},
    ),
    "POST /v1/requesters/{id}/merge": Operation("mergeRequester", {**ONE, "updated": UPDATED}, {"into": "org_acme"}),
    "PATCH /v1/requesters/{id}": Operation(
        "updateRequester", {**ONE, "notes": "Renews in May.", "updated": UPDATED}, {"notes": "Renews in May."}
    ),
    "POST /v1/requesters/{id}/portal-sessions": Operation(
        "createPortalSession",
        {
            "object": "portal_session",
            "requesterId": "org_acme",
            **PORTAL_REQUEST,
            "url": "https://licensing.example/portal/0q3hZ7dW1uGv6pQhB2mXb5cJ8sRkTyL4nAeFiOaUwEg",
            "expiresAt": "2026-02-14T17:00:00.000000Z",
        },
        PORTAL_REQUEST,
    ),
}
