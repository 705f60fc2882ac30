"""OpenAPI examples of portal sessions."""

from kit.openapi.examples import Operation

REQUEST: dict[str, object] = {"scopes": ["licenses", "statements"], "returnUrl": "https://publisher.example/account"}

OPERATIONS = {
    "POST /v1/requesters/{id}/portal-sessions": Operation(
        "createPortalSession",
        {
            "object": "portal_session",
            "requesterId": "org_acme",
            **REQUEST,
            "url": "https://licensing.example/portal/0q3hZ7dW1uGv6pQhB2mXb5cJ8sRkTyL4nAeFiOaUwEg",
            "expiresAt": "2026-02-14T17:00:00.000000Z",
        },
        REQUEST,
    ),
}
