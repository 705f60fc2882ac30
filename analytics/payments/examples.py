"""OpenAPI examples of payments."""

from kit.openapi.examples import Operation, example_page, more

NEW_PAYMENT: dict[str, object] = {
    "requesterId": "org_acme",
    "kind": "payment",
    "amount": 500,
    "currency": "EUR",
    "receivedAt": "2026-01-12T00:00:00.000000Z",
    "externalId": "invoice-2026-001",
    "note": "Bank transfer",
}
PAYMENT: dict[str, object] = {
    "id": "pay_01kd9xb3c7hq2m5v8t0w4z6rjn",
    "object": "payment",
    **NEW_PAYMENT,
    "requesterName": "Acme",
    "grantId": None,
    "voidedAt": None,
    "voidReason": None,
    "created": "2026-01-13T08:15:00.000000Z",
}

VOIDED: dict[str, object] = {
    **PAYMENT,
    "voidedAt": "2026-02-14T16:30:00.000000Z",
    "voidReason": "Returned by the bank",
}

OPERATIONS = {
    "GET /v1/payments": Operation("listPayments", example_page(PAYMENT, **more(31))),
    "POST /v1/payments": Operation("createPayment", PAYMENT, NEW_PAYMENT, ("resource_already_exists",)),
    "GET /v1/payments/{id}": Operation("getPayment", PAYMENT),
    "POST /v1/payments/{id}/void": Operation(
        "voidPayment", VOIDED, {"reason": "Returned by the bank"}, ("resource_already_exists",)
    ),
}
