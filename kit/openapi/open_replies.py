"""Replies in the OpenAPI document stay open: later versions may add fields and values to them.

Generated clients refuse what a schema closes. So schemas of replies have no `enum`, no `const`, no `pattern` and no
`additionalProperties: false`; the values known today are in `x-extensible-enum`. Requests keep all of these, because
the service refuses other values. A component that both use becomes two, and the one of replies ends in `Shown`.
"""

from typing import Any

from drf_spectacular.generators import SchemaGenerator
from rest_framework.request import Request

from kit.openapi.components import SCHEMAS, reference, used_schemas

Schema = dict[str, Any]
KNOWN_VALUES = "x-extensible-enum"
MAX_VALUES = 100  # currencies are not listed in each reply
CLOSING = ("pattern", "propertyNames", "enum", "const")
UNTOUCHED = ("example", "examples", "default")


def open_replies(result: Schema, generator: SchemaGenerator, request: Request | None, public: bool) -> Schema:
    """Open the schemas of all replies and webhooks. A hook of drf-spectacular."""
    operations = [operation for path in result["paths"].values() for operation in path.values()]
    schemas = result["components"]["schemas"]
    replies = [operation["responses"] for operation in operations]
    requests = [[operation.get("requestBody"), operation.get("parameters")] for operation in operations]
    reply_schemas = ReplySchemas(schemas, used_schemas(schemas, *requests))
    responses = result["components"]["responses"]
    reply_schemas.add(used_schemas(schemas, replies, responses, result["webhooks"]))
    for operation in operations:
        operation["responses"] = reply_schemas.open(operation["responses"])
    result["webhooks"] = reply_schemas.open(result["webhooks"])
    result["components"]["responses"] = reply_schemas.open(responses)
    remaining = {**schemas, **reply_schemas.schemas}
    used = used_schemas(remaining, result["paths"], result["webhooks"], result["components"]["responses"])
    result["components"]["schemas"] = {name: remaining[name] for name in sorted(used)}
    return result


class ReplySchemas:
    """Opens components. `schemas` has the new ones by name, `in_requests` names those that requests use."""

    def __init__(self, components: dict[str, Schema], in_requests: set[str]) -> None:
        self.components = components
        self.in_requests = in_requests
        self.schemas: dict[str, Schema] = {}
        self.shared: set[str] = set()

    def add(self, names: set[str]) -> None:
        """Open these components. Those that requests use too get a second one if that differs."""
        self.shared = {name for name in names & self.in_requests if self.differs(name)}
        for name in names:
            if not is_enumeration(self.components[name]):
                self.schemas[self.component_name(name)] = self.open(self.components[name])

    def differs(self, name: str) -> bool:
        """Return whether a component, or one that it refers to, is closed."""
        names = {name, *used_schemas(self.components, self.components[name])}
        return any(is_closed(self.components[used]) for used in names)

    def component_name(self, name: str) -> str:
        return f"{name}Shown" if name in self.shared else name

    def open(self, value: Any) -> Any:
        """Return a part of the document in which no schema is closed."""
        if isinstance(value, list):
            return [self.open(member) for member in value]
        if not isinstance(value, dict):
            return value
        if "discriminator" in value:
            return self.open(self.merge_alternatives(value))
        if target := referenced_component(value):
            return self.open_reference(value, target)
        value_schema = with_known_values(value)
        for keyword, member in value_schema.items():
            if keyword == "properties":  # property names are not keywords
                value_schema[keyword] = {name: self.open(schema) for name, schema in member.items()}
            elif keyword not in UNTOUCHED:
                value_schema[keyword] = self.open(member)
        return value_schema

    def open_reference(self, value: Schema, target: str) -> Schema:
        siblings = {keyword: member for keyword, member in value.items() if keyword != "$ref"}
        if is_enumeration(self.components[target]):  # an open enumeration is a string, which needs no name
            return {**with_known_values(self.components[target]), **siblings}
        return {**siblings, **reference(self.component_name(target))}

    def merge_alternatives(self, value: Schema) -> Schema:
        """Return one object in place of alternatives that differ by the value of a property.

        A later version may add an alternative, and clients could not decide between unknown ones.
        """
        alternatives = [self.components[referenced_component(schema) or ""] for schema in value["oneOf"]]
        name = value["discriminator"]["propertyName"]
        properties: Schema = {}
        for alternative in alternatives:
            properties |= alternative["properties"]
        values = [alternative["properties"][name]["const"] for alternative in alternatives]
        properties[name] = {**properties[name], "enum": values}
        del properties[name]["const"]
        required = set.intersection(*(set(alternative["required"]) for alternative in alternatives))
        siblings = {keyword: member for keyword, member in value.items() if keyword not in ("oneOf", "discriminator")}
        return {**siblings, "type": "object", "required": sorted(required), "properties": properties}


def referenced_component(value: Schema) -> str | None:
    """Return the name of the component that a reference names."""
    target = value.get("$ref")
    return target.removeprefix(SCHEMAS) if isinstance(target, str) and target.startswith(SCHEMAS) else None


def is_enumeration(schema: Schema) -> bool:
    return isinstance(schema.get("enum"), list) and "properties" not in schema


def is_closed(value: object) -> bool:
    """Return whether this part closes a set of values or fields, references aside."""
    if isinstance(value, list):
        return any(map(is_closed, value))
    if not isinstance(value, dict):
        return False
    if value.get("additionalProperties") is False or any(keyword in value for keyword in CLOSING):
        return True
    members = [member for keyword, member in value.items() if keyword not in (*UNTOUCHED, "properties")]
    return any(map(is_closed, [*members, *value.get("properties", {}).values()]))


def with_known_values(schema: Schema) -> Schema:
    """Return a schema that names its values, if they are not too many, without excluding others."""
    open_schema = {keyword: member for keyword, member in schema.items() if keyword not in CLOSING}
    if open_schema.get("additionalProperties") is False:
        del open_schema["additionalProperties"]
    values = [schema["const"]] if "const" in schema else schema.get("enum", [])
    if 0 < len(values) <= MAX_VALUES:
        open_schema[KNOWN_VALUES] = [value for value in values if value is not None]
    return open_schema
