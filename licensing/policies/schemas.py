"""JSON Schema of what is not a plain serializer field, for the OpenAPI document."""

from typing import Any

import msgspec

from kit.rest.openapi import COMPONENT
from licensing.policies import conditions, rules


def one_or_more(member: dict[str, Any]) -> dict[str, Any]:
    return {"oneOf": [member, {"type": "array", "items": member, "minItems": 1, "maxItems": conditions.MAX_VALUES}]}


def text(maximum: int) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": maximum}


PERMISSION: dict[str, Any] = {
    "type": "string",
    "pattern": f"^{conditions.PERMISSION_PATTERN}$",
    "example": "commercial_use",
}
TIMESTAMP = {"type": "string", "format": "date-time"}

IP_RANGE = {
    "type": "string",
    "format": "ip-range",
    "description": "An address or a CIDR range without host bits.",
    "example": "203.0.113.0/24",
}

CONDITIONS: dict[str, Any] = {
    COMPONENT: "Conditions",
    "description": "All must hold; of several values any. What is not known matches nothing.",
    "oneOf": [
        {
            "type": "object",
            "title": "ConditionsOnFacts",
            "minProperties": 1,
            "additionalProperties": False,
            "properties": {
                "licenseType": one_or_more(text(100)),
                "hasValidLicense": {"type": "boolean"},
                "requesterId": one_or_more(text(255)),
                "contentType": one_or_more({"type": "string", "enum": list(conditions.CONTENT_TYPES)}),
                "tags": one_or_more(text(100)),
                "category": one_or_more(text(255)),
                "permission": one_or_more(PERMISSION),
                "ip": one_or_more(IP_RANGE),
                "before": TIMESTAMP,
                "after": TIMESTAMP,
            },
        },
        {
            "type": "object",
            "title": "Always",
            "description": "Matches always.",
            "required": ["default"],
            "additionalProperties": False,
            "properties": {"default": {"type": "boolean", "enum": [True]}},
        },
    ],
    "example": {"licenseType": ["commercial", "enterprise"], "hasValidLicense": True},
}

RULE_FIELDS: dict[str, Any] = {
    "priority": {
        "type": "integer",
        "minimum": 0,
        "maximum": rules.MAX_PRIORITY,
        "description": "Lower ones are tried first; a missing one last.",
    },
    "conditions": CONDITIONS,
    "message": {"type": "string", "maxLength": rules.MAX_MESSAGE, "description": "Comes with the decision."},
}
ALLOW_FIELDS: dict[str, Any] = {
    "permissions": {
        "type": "array",
        "maxItems": rules.MAX_PERMISSIONS,
        "items": PERMISSION,
        "description": "What the rule grants; `full_access` grants all.",
    },
    "rateLimit": {
        "type": "object",
        "description": "How often the rule allows, for each requester.",
        "required": ["requests", "period"],
        "additionalProperties": False,
        "properties": {
            "requests": {"type": "integer", "minimum": 1, "maximum": rules.MAX_REQUESTS},
            "period": {"type": "string", "enum": list(rules.PERIODS)},
        },
    },
}


def rule(action: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "title": f"{action.title()}Rule",
        "required": ["action", "conditions"],
        "additionalProperties": False,
        "properties": {"action": {"type": "string", "enum": [action]}, **fields},
    }


RULE: dict[str, Any] = {
    COMPONENT: "Rule",
    "description": "Allows or denies where its conditions hold.",
    "oneOf": [rule("allow", RULE_FIELDS | ALLOW_FIELDS), rule("deny", RULE_FIELDS)],
    "example": {
        "action": "allow",
        "priority": 1,
        "conditions": {"licenseType": ["commercial", "enterprise"], "hasValidLicense": True},
        "permissions": ["full_access"],
        "rateLimit": {"requests": 100, "period": "hour"},
    },
}

RULES: dict[str, Any] = {
    "type": "array",
    "maxItems": rules.MAX_RULES,
    "items": RULE,
    "default": [],
    "description": f"Together at most {rules.MAX_RULES_BYTES:,} bytes of JSON without spaces.",
}

METADATA: dict[str, Any] = {
    "type": "object",
    "nullable": True,
    "properties": {
        "author": {"type": "string", "maxLength": 255, "nullable": True},
        "publishedAt": {"type": "string", "format": "date", "nullable": True},
        "category": {"type": "string", "maxLength": 255, "nullable": True},
        "tags": {
            "type": "array",
            "items": {**text(100), "pattern": r"\S"},
            "maxItems": 50,
            "nullable": True,
            "description": "Independent of the item's own `tags`.",
        },
        "wordCount": {"type": "integer", "minimum": 0, "maximum": 2_147_483_647, "nullable": True},
    },
    "additionalProperties": {
        "anyOf": [
            {"type": "string", "maxLength": 500, "nullable": True},
            {"type": "number", "nullable": True},
            {"type": "boolean", "nullable": True},
        ],
    },
    "description": "Up to 50 further keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`.",
    "example": {"author": "Ada Byron", "publishedAt": "2026-01-31", "category": "finance", "wordCount": 1200},
}


def openapi(schema: Any) -> Any:
    """JSON Schema in the words of OpenAPI 3.0, which has no null type: `anyOf` with null becomes `nullable`."""
    if isinstance(schema, list):
        return [openapi(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    worded = {name: openapi(value) for name, value in schema.items() if name not in ("default", "title", "properties")}
    if "properties" in schema:  # whose names may be such words
        worded["properties"] = {name: openapi(value) for name, value in schema["properties"].items()}
    if worded.get("required") == []:
        del worded["required"]
    if "anyOf" in worded:
        members = [member for member in worded.pop("anyOf") if member != {"type": "null"}]
        if len(members) == 1 and COMPONENT in members[0]:
            worded |= {"type": "object", "nullable": True, "allOf": members}
        elif len(members) == 1:
            worded = members[0] | {"nullable": True} | worded
        else:  # null means what absence does, and there is no type to say it beside
            worded["oneOf"] = members
    return worded


def body_schema(body: type[msgspec.Struct], **keywords: Any) -> dict[str, Any]:
    """The request of an operation whose body is a structure; `keywords` say what its types cannot."""
    [schema], components = msgspec.json.schema_components([body], ref_template="{name}")
    for name, component in components.items():
        component[COMPONENT] = name.removesuffix("Body")
    return {"application/json": openapi(inlined(schema, components)) | keywords}


def inlined(schema: Any, components: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [inlined(member, components) for member in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return inlined(components[schema["$ref"]], components)
    return {name: inlined(value, components) for name, value in schema.items()}
