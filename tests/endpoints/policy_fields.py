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


# Wrong rules are in tests/decisions/test_rule_validation.py.
OUT_OF_BOUNDS: list[tuple[str, Any, str]] = [
    ("name", "", "name"), ("name", "  ", "name"), ("name", "x" * 256, "name"),
    ("description", "x" * 2001, "description"),
    ("defaultAction", "maybe", "defaultAction"), ("defaultAction", None, "defaultAction"),
    ("rules", [{"action": "allow", "conditions": {"default": True}}] * 101, "rules"),
    ("rules", [{"action": "deny", "conditions": {"default": True}}, {"action": "deny"}], "rules[1].conditions"),
]  # fmt: skip
