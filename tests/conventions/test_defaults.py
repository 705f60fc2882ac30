"""Each field that a creation may leave out names its default in the OpenAPI document."""

from dataclasses import replace
from typing import Any

import pytest

from tests.client import ApiClient
from tests.conventions.endpoints import ENDPOINTS, NEW_LICENSE, Endpoint
from tests.conventions.schemas import DOCUMENT, Path, fields_of, parts_of, schema_of

CREATIONS = [endpoint for endpoint in ENDPOINTS if endpoint.method == "POST" and endpoint.status == 201]
# What the samples lack: objects inside resources.
WITH_PARTS: dict[str, dict[str, Any]] = {
    "/v1/licenses": {**NEW_LICENSE, "fee": {"amount": 1, "currency": "EUR", "every": "month"}},
    "/v1/policies": {"name": "New", "tests": [{"requester": {"id": "org"}, "expect": {"allowed": False}}]},
    "/v1/sites": {"host": "new.example", "rules": [{"pattern": "/a"}]},
    "/v1/wallets": {"requesterId": "{requester}", "unit": "EUR", "refill": {"amount": 5, "every": "month"}},
}
DERIVED = {("POST /v1/refunds", "licenseId")}  # which licence was charged


def at(reply: Any, path: Path) -> Any:
    """Return the value at a path of the reply, or None."""
    for name in path:
        known = isinstance(reply, list) or (isinstance(reply, dict) and name in reply)
        reply = reply[name] if known else None
    return reply


def names_default(schema: dict[str, Any]) -> bool:
    """Whether the description does. With `default` in the schema, generated types would make the field mandatory."""
    return any("default" in part.get("description", "").lower() for part in (schema, *parts_of(schema)))


@pytest.mark.parametrize("endpoint", CREATIONS, ids=str)
def test_a_field_that_may_be_left_out_names_its_default(endpoint: Endpoint, ids: dict[str, str], api: ApiClient):
    endpoint = replace(endpoint, body=WITH_PARTS.get(endpoint.path, endpoint.body))
    _, body = endpoint.filled(ids)
    reply = endpoint.send(api, ids)
    assert reply.status == 201, reply
    unnamed = [
        (path, value)
        for path, schema, is_required in fields_of(schema_of(endpoint), body)
        if not is_required and at(body, path) is None
        if (str(endpoint), path[0]) not in DERIVED
        if (value := at(reply.body, path)) not in (None, [], {}) and not names_default(schema)
    ]
    assert unnamed == []


def test_no_schema_of_a_request_has_a_default():
    """Generators of types make such a field mandatory."""
    requests = {name: schema for name, schema in DOCUMENT["components"]["schemas"].items() if name.endswith("Request")}
    with_default = [
        f"{name}.{field}"
        for name, schema in requests.items()
        for field, shape in schema.get("properties", {}).items()
        if "default" in shape
    ]
    assert len(requests) > 20
    assert with_default == []
