"""OpenAPI examples of licences."""

from kit.openapi.examples import Operation, example_error, example_outcomes, example_page
from licensing.policies.examples import CREATED, MORE, UPDATED

LICENSE_ID = "lic_01kd9wk2c4f7m9x3p6rq8t1vzh"
EXPIRES = "2027-01-31T00:00:00.000000Z"
NEW_LICENSE: dict[str, object] = {
    "requesterId": "org_acme",
    "requesterName": "Acme",
    "externalId": "contract-2026-117",
    "licenseType": "commercial",
    "tags": ["markets"],
    "startsAt": "2026-01-31T00:00:00Z",
    "expiresAt": "2027-01-31T00:00:00Z",
    "price": {"amount": "1200.00", "currency": "EUR"},
    "pricePerAccess": {"amount": 0.05, "currency": "EUR"},
    "fee": {"amount": 50, "currency": "EUR", "every": "month"},
    "metadata": {"salesperson": "Ada", "orderNumber": 4711},
}
LICENSE: dict[str, object] = {
    "id": LICENSE_ID,
    "object": "license",
    **NEW_LICENSE,
    "contentIds": [],
    "policyIds": [],
    "startsAt": "2026-01-31T00:00:00.000000Z",
    "expiresAt": EXPIRES,
    "price": {"amount": 1200, "currency": "EUR"},
    "nextFeeAt": "2026-02-28T00:00:00.000000Z",
    "status": "active",
    "revokedAt": None,
    "created": CREATED,
    "updated": CREATED,
}
BULK: dict[str, object] = {
    "items": [
        NEW_LICENSE,
        {"externalId": "contract-2025-092", "expiresAt": "2028-01-31T00:00:00Z"},
        {"requesterId": "org_byron"},
    ]
}
BULK_OUTCOMES = example_outcomes(
    "license",
    (201, {**LICENSE, "id": "lic_01kd9wm5r8t1v4x7z0b3d6f9h2"}, None),
    (
        200,
        {
            **LICENSE,
            "externalId": "contract-2025-092",
            "expiresAt": "2028-01-31T00:00:00.000000Z",
            "updated": UPDATED,
        },
        None,
    ),
    (422, None, example_error("invalid_request", "validation_error", "This field is required.", "licenseType")),
)
CLIENT_ID = "cli_01kd9wkd1n5s8v2y6b9f3j7m4p"
CLIENT: dict[str, object] = {
    "id": CLIENT_ID,
    "object": "license_client",
    "requesterId": "org_acme",
    "requesterName": "Acme",
    "name": "Acme's crawler",
    "prefix": "svc_cs_4Kq9Zt",
    "formerSecretUntil": None,
    "revokedAt": None,
    "lastUsedAt": None,
    "created": CREATED,
}
WITH_SECRET = {**CLIENT, "secret": "svc_cs_4Kq9ZtB1nXw7Lr0Vf5Hc2Ys8Dm3Gj6Pa9e"}

OPERATIONS = {
    "GET /v1/licenses": Operation("listLicenses", example_page(LICENSE, **MORE)),
    "POST /v1/licenses": Operation("createLicense", LICENSE, NEW_LICENSE),
    "POST /v1/licenses/bulk": Operation("upsertLicenses", BULK_OUTCOMES, BULK),
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
    "GET /v1/license-clients": Operation("listLicenseClients", example_page(CLIENT)),
    "POST /v1/license-clients": Operation(
        "createLicenseClient", WITH_SECRET, {"requesterId": "org_acme", "name": "Acme's crawler"}
    ),
    "GET /v1/license-clients/{id}": Operation("getLicenseClient", CLIENT),
    "DELETE /v1/license-clients/{id}": Operation("revokeLicenseClient", {**CLIENT, "revokedAt": UPDATED}),
    "POST /v1/license-clients/{id}/rotate": Operation(
        "rotateLicenseClient",
        {**WITH_SECRET, "formerSecretUntil": "2026-02-14T17:30:00.000000Z"},
        {"overlapSeconds": 3600},
        codes=("resource_revoked",),
    ),
}
