from itertools import count

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import factories
from tests.endpoints.bulk_rows import statuses

# Fields that change a resource that a row has made.
CHANGES = {
    "content": {"title": "y"},
    "policies": {"name": "y"},
    "licenses": {"price": {"amount": 1, "currency": "EUR"}, "requesterName": "y"},
    "api-keys": {"name": "y"},
}


def row_of(kind, number, item):
    rows = {
        "content": {"externalId": f"item-{number}", "title": "x", "policyId": item.policy_id},
        "policies": {"externalId": f"plan-{number}", "name": "x", "rules": [factories.ALLOW_LICENSED]},
        "licenses": {
            "requesterId": f"org_{number}", "licenseType": "commercial", "contentIds": [item.pk],
            "price": {"amount": "12.50", "currency": "EUR"},
        },
        "api-keys": {"name": "x", "type": "secret", "permissions": ["content:read"]},
    }  # fmt: skip
    return rows[kind]


@pytest.mark.usefixtures("in_one_part")
@pytest.mark.parametrize("kind", CHANGES)
def test_many_rows_take_as_many_statements_as_few(api, item, kind):
    numbers = count()

    def statements(number):
        made, new = ([row_of(kind, next(numbers), item) for _ in range(number)] for _ in range(2))
        rows = api.post(f"/v1/{kind}/bulk", {"items": made})["data"]
        [name] = rows[0].keys() - {"index", "status", "error"}
        changed = [{"id": row[name]["id"], **CHANGES[kind]} for row in rows]
        with CaptureQueriesContext(connection) as captured:
            assert statuses(api.post(f"/v1/{kind}/bulk", {"items": new + changed})) == [201] * number + [200] * number
        return len(captured)

    statements(2)
    assert statements(3) == statements(12)  # SQLite takes only so many rows in one
