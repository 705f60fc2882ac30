"""Rows of bulk requests for licences."""

NEW = {"requesterId": "org_acme", "licenseType": "commercial"}
PRICE = {"amount": "12.50", "currency": "EUR"}


def send(api, *rows, **options):
    return api.post("/v1/licenses/bulk", {"items": list(rows)}, **options)
