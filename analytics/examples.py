"""OpenAPI examples of the ledger, reports and statements."""

from analytics.payments import examples as payments
from analytics.wallets import examples as wallets
from kit.openapi.examples import Operation, example_page, more

NEW_ADJUSTMENT: dict[str, object] = {
    "amount": "-12.50",
    "currency": "EUR",
    "licenseType": "commercial",
    "description": "Refund of half a month, agreed by telephone",
    "externalId": "credit-note-2026-014",
}
ADJUSTMENT: dict[str, object] = {
    "id": "led_01kd9xb3c7hq2m5v8t0w4z6rjn",
    "object": "ledger_entry",
    "type": "adjustment",
    "amount": -12.5,
    "currency": "EUR",
    "occurredAt": "2026-02-14T16:30:00.000000Z",
    "licenseId": None,
    "licenseType": "commercial",
    "feeId": None,
    "decisionId": None,
    "contentId": None,
    "contentTitle": None,
    "requesterId": None,
    "requesterName": None,
    "description": NEW_ADJUSTMENT["description"],
    "externalId": "credit-note-2026-014",
    "refunded": None,
    "refundable": None,
    "created": "2026-02-14T16:30:00.000000Z",
}
CHARGE: dict[str, object] = {
    **ADJUSTMENT,
    "id": "led_01kd9wq3y8e4sbx6t5j9w2m7ka",
    "type": "usage",
    "amount": 0.05,
    "licenseId": "lic_01kd9wn8r2c5t7v0x3z6b9d4fh",
    "decisionId": "dec_01kd9wq3y8e4sbx6t5j9w2m7ka",
    "contentId": "cnt_01kd9wjm9kepqvj3h1k7c8x2rt",
    "contentTitle": "Markets in January",
    "requesterId": "org_acme",
    "requesterName": "Acme",
    "description": None,
    "externalId": None,
    "refunded": 0.02,
    "refundable": 0.03,
}
NEW_REFUND: dict[str, object] = {
    "decisionId": CHARGE["decisionId"],
    "amount": "0.02",
    "reason": "The file was empty",
    "externalId": "refund-2026-014",
}
REFUND: dict[str, object] = {
    **CHARGE,
    "id": "led_01kd9xb3c7hq2m5v8t0w4z6rjp",
    "type": "adjustment",
    "amount": -0.02,
    "description": NEW_REFUND["reason"],
    "externalId": NEW_REFUND["externalId"],
    "refunded": None,
    "refundable": None,
}

USAGE: dict[str, object] = {
    "summary": {"totalRequests": 5, "allowed": 3, "denied": 2, "uniqueRequesters": 2, "uniqueContent": 2},
    "timeSeries": [
        {"date": "2026-01-30", "requests": 0, "allowed": 0, "denied": 0},
        {"date": "2026-01-31", "requests": 5, "allowed": 3, "denied": 2},
    ],
    "topContent": [
        {"id": "cnt_01kd9w9r2hf5tbnw4c6m8z3qjx", "title": "Annual report", "requests": 4},
        {"id": "cnt_01kd9x4v8meq3s7b5d1p6t0ncy", "title": "Cover photograph", "requests": 1},
    ],
    "topRequesters": [
        {"id": "org_acme", "name": "Acme", "requests": 3},
        {"id": "org_zenith", "name": None, "requests": 2},
    ],
    "byDenialReason": [{"reason": "no_license", "count": 2}],
}

REVENUE: dict[str, object] = {
    "summary": {"total": 1249.05, "currency": "USD", "changePercent": 12.5, "projectedMonthly": 18735.75},
    "timeSeries": [{"date": "2026-01-30", "revenue": 0}, {"date": "2026-01-31", "revenue": 1249.05}],
    "byLicenseType": {"commercial": 1200, "press": 61.55, "other": -12.5},
    "byRequester": [{"id": "org_acme", "name": "Acme", "revenue": 1261.55}],
    "byContent": [{"id": "cnt_01kd9wjm9kepqvj3h1k7c8x2rt", "title": "Quarterly outlook", "revenue": 61.55}],
    "byCurrency": [{"currency": "JPY", "amount": 30000}, {"currency": "USD", "amount": 1249.05}],
    "unconverted": [{"currency": "JPY", "amount": 30000, "entries": 2}],
}

STATEMENT: dict[str, object] = {
    "id": "stm_2yz12namg000000000000027fv",
    "object": "statement",
    "requesterId": "org_acme",
    "requesterName": "Acme",
    "month": "2026-01",
    "currency": "EUR",
    "status": "closed",
    "opening": 340.2,
    "licenses": 100,
    "fees": 0,
    "usage": 12.35,
    "adjustments": -12.5,
    "total": 99.85,
    "charges": 112.35,
    "refunds": 12.5,
    "payments": 340.2,
    "payouts": 0,
    "paidForCredit": 50,
    "closing": 99.85,
    "credits": {"opening": 20, "granted": 50, "spent": 12.35, "expired": 5, "refunded": 2.5, "closing": 55.15},
    "decisions": 247,
    "lines": 9,
    "closedAt": "2026-02-01T01:03:20.000000Z",
}
LINE: dict[str, object] = {
    "id": CHARGE["id"],
    "object": "statement_line",
    "type": "usage",
    "amount": 4.1,
    "currency": "EUR",
    "decisions": 82,
    "licenseId": CHARGE["licenseId"],
    "licenseType": "commercial",
    "contentId": CHARGE["contentId"],
    "contentTitle": "Quarterly outlook",
    "description": None,
    "externalId": None,
    "occurredAt": "2026-01-02T08:15:00.000000Z",
    "created": "2026-01-02T08:15:00.000000Z",
    "latest": "2026-01-30T21:40:00.000000Z",
}

STATEMENT_PAYMENT: dict[str, object] = {
    "id": payments.PAYMENT["id"],
    "object": "statement_payment",
    "kind": "payment",
    "amount": 340.2,
    "counted": 340.2,
    "currency": "EUR",
    "receivedAt": "2026-01-12T00:00:00.000000Z",
    "externalId": "invoice-2026-001",
    "grantId": None,
    "created": "2026-01-13T08:15:00.000000Z",
    "voidedAt": None,
}

OPERATIONS = {
    **wallets.OPERATIONS,
    **payments.OPERATIONS,
    "GET /v1/analytics/revenue": Operation("getRevenueReport", REVENUE),
    "GET /v1/revenue": Operation("listLedgerEntries", example_page(ADJUSTMENT, CHARGE, **more(912))),
    "POST /v1/revenue": Operation("createLedgerEntry", ADJUSTMENT, NEW_ADJUSTMENT, ("resource_already_exists",)),
    "POST /v1/refunds": Operation("createRefund", REFUND, NEW_REFUND, ("resource_already_exists",)),
    "GET /v1/revenue/{id}": Operation("getLedgerEntry", CHARGE),
    "GET /v1/statements": Operation("listStatements", {"object": "list", "data": [STATEMENT], **more(912)}),
    "GET /v1/statements/{id}": Operation("getStatement", STATEMENT),
    "GET /v1/statements/{id}/lines": Operation("listStatementLines", {"object": "list", "data": [LINE], **more(912)}),
    "GET /v1/statements/{id}/payments": Operation(
        "listStatementPayments", {"object": "list", "data": [STATEMENT_PAYMENT], **more(912)}
    ),
    "GET /v1/analytics/usage": Operation("getUsageReport", USAGE),
}
