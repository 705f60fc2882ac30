from typing import Any

from tests.conventions.endpoints import Endpoint, each_with_body
from tests.conventions.schemas import Path, fields_of, parts_of, schema_of, types_of

# A value of each JSON type. Integers are numbers, too.
VALUES = [
    ("string", "12"), ("integer", 12), ("number", 1.5), ("boolean", True), ("array", []), ("object", {}),
    ("null", None),
]  # fmt: skip
MORE_VALUES = {"integer": [12.0], "boolean": ["true", 1, 0]}  # of fields of these types
OTHER_TEXTS = {"decimal": ["twelve", "1e2"], "email": ["nobody"]}  # of fields of these formats
# Nested parts that the samples lack, so that their fields are tested, too.
MONEY = {name: {"amount": "1", "currency": "EUR"} for name in ("price", "pricePerAccess")}
RULE = {"action": "allow", "conditions": {"default": True}, "permissions": ["read"], "rateLimit": {}, **MONEY}
DRAFT = {"rules": [{name: part for name, part in RULE.items() if name != "price"}]}
CHECK = {"requester": {"id": "org"}, "context": {}}
PARTS: dict[str, dict[str, Any]] = {
    "/v1/content": {"metadata": {}, "tags": ["a"]},
    "/v1/policies": DRAFT,
    "/v1/access/check": CHECK,
    "/v1/access/check/batch": {**CHECK, "checks": [CHECK]},
    "/v1/api-keys": {"permissions": ["*"], "allowedIps": ["::1"], "allowedHosts": ["a.example"], "rateLimit": {}},
    "/v1/licenses": {"contentIds": ["a"], "tags": ["a"], "policyIds": ["a"], **MONEY},
    "/v1/sites": {"aliases": ["a.example"], "rules": [{"pattern": "/a"}]},
    "/v1/webhooks": {"events": ["*"], "headers": {"X-Auth": "a"}},
    "/v1/requesters": {"metadata": {"seats": 1}},
    "/v1/wallets": {"thresholds": [{}], "refill": {"amount": 5, "every": "day", "rollover": {}}},
    "/v1/wallets/{wallet}/grants": {"paid": {"amount": 1, "currency": "EUR"}},
}


def whole_body(endpoint: Endpoint, ids: dict[str, str]) -> dict[str, Any]:
    """Return the sample's body with its nested parts."""
    parts = [path for path in PARTS if endpoint.path.startswith(path) and "bulk" not in endpoint.path]
    return {**endpoint.filled(ids)[1], **(PARTS[max(parts, key=len)] if parts else {})}


def wrong_values(schema: dict[str, Any]) -> list[Any]:
    """Return values of types that the field does not have."""
    types, formats = types_of(schema), {part.get("format") for part in parts_of(schema)}
    if not types:
        return []
    same = {*types, *({"integer"} if "number" in types else ()), *({"string"} if "decimal" in formats else ())}
    wrong = [value for name, value in VALUES if name not in same]
    wrong += [value for name, values in MORE_VALUES.items() if types - {"null"} == {name} for value in values]
    return wrong + [text for name in formats & OTHER_TEXTS.keys() for text in OTHER_TEXTS[name]]


def with_value(body: Any, path: Path, value: Any) -> Any:
    """Return a copy of the body with the value at the path."""
    first, *rest = path
    changed = list(body) if isinstance(body, list) else dict(body)
    changed[first] = with_value(body[first], tuple(rest), value) if rest else value
    return changed


def name_of(path: Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


@each_with_body()
def test_values_of_another_type_are_refused_and_named(api, ids, endpoint):
    body = whole_body(endpoint, ids)
    for path, schema, _ in fields_of(schema_of(endpoint), body):
        if "bulk" in endpoint.path and len(path) > 1:
            continue  # the reply names the faults of each row
        for value in wrong_values(schema):
            reply = endpoint.send(api, ids, json=with_value(body, path, value))
            assert reply.status == 422, (path, value, reply)
            faults = reply.error.get("errors", [reply.error])
            assert any(one.get("param", "").startswith(name_of(path)) for one in faults), (path, value, reply)
