"""Fields and bodies of policies."""

from typing import Any

DEFAULT = {"default": True}
FULL: dict[str, Any] = {
    "name": "Commercial use",
    "description": "For those who pay.",
    "rules": [
        {
            "action": "allow",
            "priority": 1,
            "conditions": {"licenseType": ["commercial", "enterprise"], "hasValidLicense": True},
            "permissions": ["full_access", "commercial_use"],
            "rateLimit": {"requests": 100, "period": "hour"},
        },
        {"action": "deny", "priority": 99, "conditions": DEFAULT, "message": "A licence is required."},
    ],
    "defaultAction": "deny",
}


def rule(**fields: Any) -> dict[str, Any]:
    return {"action": "allow", "conditions": DEFAULT, **fields}


# Values of other types are in tests/conventions/test_types.py.
OUT_OF_BOUNDS: list[tuple[str, Any, str]] = [
    ("name", "", "name"), ("name", "  ", "name"), ("name", "x" * 256, "name"),
    ("description", "x" * 2001, "description"), ("defaultAction", "maybe", "defaultAction"),
    ("defaultAction", None, "defaultAction"), ("rules", [rule()] * 101, "rules"),
    ("rules", [rule(), None], "rules[1]"), ("rules", [{"conditions": DEFAULT}], "rules[0].action"),
    ("rules", [rule(action="ALLOW")], "rules[0].action"), ("rules", [rule(priority=-1)], "rules[0].priority"),
    ("rules", [rule(priority=1_000_001)], "rules[0].priority"),
    ("rules", [{"action": "allow"}], "rules[0].conditions"), ("rules", [rule(conditions={})], "rules[0].conditions"),
    ("rules", [rule(conditions={"licencetype": "x"})], "rules[0].conditions.licencetype"),
    ("rules", [rule(conditions={"licenseType": []})], "rules[0].conditions.licenseType"),
    ("rules", [rule(conditions={"licenseType": ""})], "rules[0].conditions.licenseType"),
    ("rules", [rule(conditions={"licenseType": ["a", 1]})], "rules[0].conditions.licenseType[1]"),
    ("rules", [rule(conditions={"default": False})], "rules[0].conditions.default"),
    ("rules", [rule(conditions={"default": True, "tags": "x"})], "rules[0].conditions.default"),
    ("rules", [rule(conditions={"contentType": "book"})], "rules[0].conditions.contentType"),
    ("rules", [rule(conditions={"contentType": [["article"]]})], "rules[0].conditions.contentType[0]"),
    ("rules", [rule(conditions={"requesterId": "x" * 256})], "rules[0].conditions.requesterId"),
    ("rules", [rule(conditions={"permission": "Read"})], "rules[0].conditions.permission"),
    ("rules", [rule(conditions={"ip": "10.0.0.1/8"})], "rules[0].conditions.ip"),
    ("rules", [rule(conditions={"ip": ["10.0.0.0/8", "host"]})], "rules[0].conditions.ip[1]"),
    ("rules", [rule(conditions={"ip": 1})], "rules[0].conditions.ip"),
    ("rules", [rule(conditions={"before": "2027-01-01T00:00:00"})], "rules[0].conditions.before"),
    ("rules", [rule(conditions={"after": 1})], "rules[0].conditions.after"),
    ("rules", [rule(permissions=[f"p{n}" for n in range(51)])], "rules[0].permissions"),
    ("rules", [rule(permissions=["Full"])], "rules[0].permissions[0]"),
    ("rules", [rule(permissions=["a" * 65])], "rules[0].permissions[0]"),
    ("rules", [rule(permissions=["0a"])], "rules[0].permissions[0]"),
    ("rules", [rule(permissions=["a\n"])], "rules[0].permissions[0]"),
    ("rules", [rule(action="deny", permissions=["a"])], "rules[0].permissions"),
    ("rules", [rule(action="deny", rateLimit={"requests": 1, "period": "day"})], "rules[0].rateLimit"),
    ("rules", [rule(rateLimit={"requests": 0, "period": "day"})], "rules[0].rateLimit.requests"),
    ("rules", [rule(rateLimit={"requests": 1_000_000_001, "period": "day"})], "rules[0].rateLimit.requests"),
    ("rules", [rule(rateLimit={"requests": "5", "period": "day"})], "rules[0].rateLimit.requests"),
    ("rules", [rule(rateLimit={"requests": 5, "period": "year"})], "rules[0].rateLimit.period"),
    ("rules", [rule(rateLimit={"requests": 5, "period": ["day"]})], "rules[0].rateLimit.period"),
    ("rules", [rule(rateLimit={"requests": 5})], "rules[0].rateLimit.period"),
    ("rules", [rule(rateLimit={"period": "day"})], "rules[0].rateLimit.requests"),
    ("rules", [rule(rateLimit={"requests": 5, "period": "day", "burst": 1})], "rules[0].rateLimit.burst"),
    ("rules", [rule(message="x" * 501)], "rules[0].message"),
    ("rules", [rule(), rule(effect="allow")], "rules[1].effect"),
]  # fmt: skip
