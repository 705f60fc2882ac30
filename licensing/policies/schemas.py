"""JSON Schema for the OpenAPI document, where serializer fields do not suffice."""

from typing import cast

import msgspec

from kit.openapi.components import COMPONENT, NULL, nullable, reference
from kit.values.decimals import PLACES
from licensing.policies import conditions, rules
from licensing.policies.condition_values import PERMISSION_SCHEMA

CONDITIONS: dict[str, object] = {
    COMPONENT: "Conditions",
    "type": "object",
    "description": "All must hold; of several values any. What is not known matches nothing.",
    "minProperties": 1,
    "additionalProperties": False,
    "properties": {
        condition_type.name: {
            **condition_type.schema,
            "description": f"{condition_type.holds_if[0].upper()}{condition_type.holds_if[1:]}.",
        }
        for condition_type in conditions.TYPES
    },
    # One object rather than `oneOf`, so that generated clients read and write it without loss.
    "dependentSchemas": {"default": {"maxProperties": 1}},
    "example": {"licenseType": ["commercial", "enterprise"], "hasValidLicense": True},
}

DECIMAL = f"^(?=.*[1-9])(0|[1-9][0-9]{{0,{len(str(rules.MAX_PRICE)) - 1}}})(\\.[0-9]{{1,{PLACES}}})?$"
RULE_FIELDS: dict[str, object] = {
    "priority": {
        "type": "integer",
        "minimum": 0,
        "maximum": rules.MAX_PRIORITY,
        "description": "Lower ones are tried first; a missing one last.",
    },
    "conditions": CONDITIONS,
    "message": {"type": "string", "maxLength": rules.MAX_MESSAGE, "description": "Comes with the decision."},
}
ALLOW_FIELDS: dict[str, object] = {
    "permissions": {
        "type": "array",
        "maxItems": rules.MAX_PERMISSIONS,
        "items": PERMISSION_SCHEMA,
        "description": "What the rule grants; `full_access` grants all.",
    },
    "rateLimit": {
        COMPONENT: "RateLimit",
        "type": "object",
        "description": "How often the rule allows, for each requester or visitor.",
        "required": ["requests", "period"],
        "additionalProperties": False,
        "properties": {
            "requests": {"type": "integer", "minimum": 1, "maximum": rules.MAX_REQUESTS},
            "period": {"type": "string", "enum": list(rules.PERIODS)},
            "per": {
                "type": "string",
                "enum": list(rules.COUNTED),
                "description": f"Default: `{rules.REQUESTER}`. `visitor` counts readers who are not signed in apart: "
                "by a cookie at the edge, by `context.visitorId` in checks, otherwise by their address.",
            },
        },
    },
    "pricePerAccess": {
        "type": "object",
        "description": "What an access costs whoever holds no licence that the rule allows.",
        "required": ["amount", "currency"],
        "additionalProperties": False,
        "properties": {
            "amount": {
                "description": f"More than 0, at most {rules.MAX_PRICE:,}, with at most six places.",
                "oneOf": [
                    {"type": "number", "format": "decimal", "exclusiveMinimum": 0, "maximum": rules.MAX_PRICE},
                    {"type": "string", "pattern": DECIMAL},
                ],
            },
            "currency": {"type": "string", "pattern": "^[A-Z]{3}$", "description": "ISO 4217, such as `EUR`."},
        },
    },
}
SUBSCHEMAS = ("properties", "dependentSchemas")


def rule(action: str, fields: dict[str, object]) -> dict[str, object]:
    return {
        COMPONENT: f"{action.title()}Rule",
        "type": "object",
        "required": ["action", "conditions"],
        "additionalProperties": False,
        "properties": {"action": {"type": "string", "const": action}, **fields},
    }


RULE: dict[str, object] = {
    COMPONENT: "Rule",
    "description": "Allows or denies where its conditions hold.",
    "oneOf": [rule("allow", RULE_FIELDS | ALLOW_FIELDS), rule("deny", RULE_FIELDS)],
    "discriminator": {
        "propertyName": "action",
        "mapping": {action: reference(f"{action.title()}Rule")["$ref"] for action in ("allow", "deny")},
    },
    "example": {
        "action": "allow",
        "priority": 1,
        "conditions": {"licenseType": ["commercial", "enterprise"], "hasValidLicense": True},
        "permissions": ["full_access"],
        "rateLimit": {"requests": 100, "period": "hour"},
    },
}

RULES: dict[str, object] = {
    "type": "array",
    "maxItems": rules.MAX_RULES,
    "items": RULE,
    "description": f"Together at most {rules.MAX_RULES_BYTES:,} bytes of JSON without spaces.",
}


def simplify(schema: object) -> object:
    """Simplify msgspec's JSON Schema: drop titles and defaults, and merge "type or null" into one type."""
    if isinstance(schema, list):
        return [simplify(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    worded: dict[str, object] = {
        # Properties may be named "default" or "title".
        name: {field: simplify(schema) for field, schema in value.items()} if name in SUBSCHEMAS else simplify(value)
        for name, value in schema.items()
        if name not in ("default", "title")
    }
    if worded.get("required") == []:
        del worded["required"]
    choices = worded.get("anyOf")
    if isinstance(choices, list) and NULL in choices and len(choices) == 2:
        [member] = [member for member in choices if member != NULL]
        del worded["anyOf"]
        worded = nullable(member) | worded
    return worded


def body_schema(body: type[msgspec.Struct], required: tuple[str, ...] = ()) -> dict[str, object]:
    """Return the OpenAPI request body of a structure. `required` fields lose their null default."""
    [schema], components = msgspec.json.schema_components([body], ref_template="{name}")
    for name, component in components.items():
        component[COMPONENT] = name.removesuffix("Body")
    simplified = cast("dict[str, object]", simplify(inline_references(schema, components)))
    properties = cast("dict[str, dict[str, list[object]]]", simplified["properties"])
    for name in required:
        properties[name]["anyOf"].remove(NULL)
    required_fields = cast("list[str]", simplified.get("required", []))
    return {"application/json": simplified | {"required": [*required_fields, *required]}}


def inline_references(schema: object, components: dict[str, object]) -> object:
    if isinstance(schema, list):
        return [inline_references(member, components) for member in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return inline_references(components[schema["$ref"]], components)
    return {name: inline_references(value, components) for name, value in schema.items()}
