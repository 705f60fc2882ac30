"""JSON Schema of what is not a plain serializer field, for the OpenAPI document."""

from typing import Any

import msgspec

from licensing.policies import conditions, rules
from licensing.policies.condition_values import PERMISSION_SCHEMA

CONDITIONS: dict[str, Any] = {
    "description": "All must hold; of several values any. What is not known matches nothing.",
    "oneOf": [
        {
            "type": "object",
            "title": "ConditionsOnFacts",
            "minProperties": 1,
            "additionalProperties": False,
            "properties": {one.name: one.schema for one in conditions.TYPES if one.kind != conditions.Kind.ALWAYS},
        },
        {
            "type": "object",
            "title": "Always",
            "description": "Matches always.",
            "required": ["default"],
            "additionalProperties": False,
            "properties": {"default": conditions.CONDITIONS["default"].schema},
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
        "items": PERMISSION_SCHEMA,
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
        worded |= members[0] if len(members) == 1 else {"oneOf": members}
        worded["nullable"] = True
    return worded


def body_schema(body: type[msgspec.Struct], **keywords: Any) -> dict[str, Any]:
    """The request of an operation whose body is a structure; `keywords` say what its types cannot."""
    [schema], components = msgspec.json.schema_components([body], ref_template="{name}")
    return {"application/json": openapi(inlined(schema, components)) | keywords}


ONE_SELECTOR = [
    {"required": [name], "properties": {name: {"type": "string"}}} for name in ("contentId", "externalId", "source")
]


def inlined(schema: Any, components: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [inlined(member, components) for member in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return inlined(components[schema["$ref"]], components)
    return {name: inlined(value, components) for name, value in schema.items()}
