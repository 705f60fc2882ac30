"""Examples of wallets for the OpenAPI document."""

from kit.openapi.examples import Operation, example_page, more

CREATED = "2026-01-02T08:15:00.000000Z"
NEW_WALLET: dict[str, object] = {
    "requesterId": "org_acme",
    "licenseId": "lic_01kd9wn8r2c5t7v0x3z6b9d4fh",
    "unit": "access",
    "thresholds": [{"percent": 20}],
    "refill": {
        "amount": 10000,
        "every": "month",
        "anchor": "2026-01-01T00:00:00.000000Z",
        "rollover": {"min": 0, "max": 2000},
    },
}
WALLET: dict[str, object] = {
    "id": "wal_01kd9xb3c7hq2m5v8t0w4z6rjn",
    "object": "wallet",
    **NEW_WALLET,
    "requesterName": "Acme",
    "balance": 10000,
    "floor": 0,
    "nextRefillAt": "2026-02-01T00:00:00.000000Z",
    "created": CREATED,
    "updated": CREATED,
}
NEW_GRANT: dict[str, object] = {
    "amount": 500,
    "kind": "paid",
    "priority": 10,
    "externalId": "order-1207",
    "paid": {"amount": 450, "currency": "EUR"},
}
GRANT: dict[str, object] = {
    "id": "grt_01kd9xb3c7hq2m5v8t0w4z6rjn",
    "object": "grant",
    "walletId": WALLET["id"],
    **NEW_GRANT,
    "remaining": 500,
    "status": "active",
    "effectiveAt": CREATED,
    "expiresAt": None,
    "voidedAt": None,
    "created": CREATED,
}
VOIDED = {**GRANT, "remaining": 0, "status": "voided", "voidedAt": "2026-02-14T16:30:00.000000Z"}
ENTRY: dict[str, object] = {
    "id": "wen_01kd9xb3c7hq2m5v8t0w4z6rjn",
    "object": "wallet_entry",
    "walletId": WALLET["id"],
    "type": "grant",
    "amount": 500,
    "grantId": GRANT["id"],
    "decisionId": None,
    "created": CREATED,
}

OPERATIONS = {
    "GET /v1/wallets": Operation("listWallets", example_page(WALLET, **more(214))),
    "POST /v1/wallets": Operation("createWallet", WALLET, NEW_WALLET, ("resource_already_exists",)),
    "GET /v1/wallets/{id}": Operation("getWallet", WALLET),
    "PATCH /v1/wallets/{id}": Operation("updateWallet", {**WALLET, "floor": -100}, {"floor": -100}),
    "GET /v1/wallets/{id}/grants": Operation("listGrants", example_page(GRANT, **more(214))),
    "POST /v1/wallets/{id}/grants": Operation("createGrant", GRANT, NEW_GRANT, ("resource_already_exists",)),
    "GET /v1/wallets/{id}/grants/{grant_id}": Operation("getGrant", GRANT),
    "POST /v1/wallets/{id}/grants/{grant_id}/void": Operation("voidGrant", VOIDED),
    "GET /v1/wallets/{id}/entries": Operation("listWalletEntries", example_page(ENTRY, **more(214))),
    "GET /v1/wallets/{id}/access": Operation(
        "getWalletAccess", {"hasAccess": True, "balance": 10500, "available": 10500}
    ),
}
