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
MOST_VALUES = 100  # currencies are not listed in each reply
CLOSING = ("pattern", "propertyNames", "enum", "const")
UNTOUCHED = ("example", "examples", "default")


def open_replies(result: Schema, generator: SchemaGenerator, request: Request | None, public: bool) -> Schema:
    """Open the schemas of all replies and webhooks. A hook of drf-spectacular."""
    operations = [operation for path in result["paths"].values() for operation in path.values()]
    schemas = result["components"]["schemas"]
    replies = [operation["responses"] for operation in operations]
    requests = [[operation.get("requestBody"), operation.get("parameters")] for operation in operations]
    opening = Opening(schemas, used_schemas(schemas, *requests))
    responses = result["components"]["responses"]
    opening.add(used_schemas(schemas, replies, responses, result["webhooks"]))
    for operation in operations:
        operation["responses"] = opening.opened(operation["responses"])
    result["webhooks"] = opening.opened(result["webhooks"])
    result["components"]["responses"] = opening.opened(responses)
    remaining = {**schemas, **opening.schemas}
    used = used_schemas(remaining, result["paths"], result["webhooks"], result["components"]["responses"])
    result["components"]["schemas"] = {name: remaining[name] for name in sorted(used)}
    return result


class Opening:
    """Opens components. `schemas` has the new ones by name, `in_requests` names those that requests use."""

    def __init__(self, closed: dict[str, Schema], in_requests: set[str]) -> None:
        self.closed = closed
        self.in_requests = in_requests
        self.schemas: dict[str, Schema] = {}
        self.shared: set[str] = set()

    def add(self, names: set[str]) -> None:
        """Open these components. Those that requests use too get a second one if that differs."""
        self.shared = {name for name in names & self.in_requests if self.differs(name)}
        for name in names:
            if not is_enumeration(self.closed[name]):
                self.schemas[self.name(name)] = self.opened(self.closed[name])

    def differs(self, name: str) -> bool:
        """Return whether a component, or one that it refers to, is closed."""
        names = {name, *used_schemas(self.closed, self.closed[name])}
        return any(is_closed(self.closed[one]) for one in names)

    def name(self, name: str) -> str:
        return f"{name}Shown" if name in self.shared else name

    def opened(self, value: Any) -> Any:
        """Return a part of the document in which no schema is closed."""
        if isinstance(value, list):
            return [self.opened(member) for member in value]
        if not isinstance(value, dict):
            return value
        if "discriminator" in value:
            return self.opened(self.merged(value))
        if target := referenced_component(value):
            return self.opened_reference(value, target)
        made = with_known_values(value)
        for word, member in made.items():
            if word == "properties":  # property names are not keywords
                made[word] = {name: self.opened(schema) for name, schema in member.items()}
            elif word not in UNTOUCHED:
                made[word] = self.opened(member)
        return made

    def opened_reference(self, value: Schema, target: str) -> Schema:
        said = {word: member for word, member in value.items() if word != "$ref"}
        if is_enumeration(self.closed[target]):  # an open enumeration is a string, which needs no name
            return {**with_known_values(self.closed[target]), **said}
        return {**said, **reference(self.name(target))}

    def merged(self, value: Schema) -> Schema:
        """Return one object in place of alternatives that differ by the value of a property.

        A later version may add an alternative, and clients could not decide between unknown ones.
        """
        alternatives = [self.closed[referenced_component(one) or ""] for one in value["oneOf"]]
        name = value["discriminator"]["propertyName"]
        properties: Schema = {}
        for alternative in alternatives:
            properties |= alternative["properties"]
        values = [alternative["properties"][name]["const"] for alternative in alternatives]
        properties[name] = {**properties[name], "enum": values}
        del properties[name]["const"]
        required = set.intersection(*(set(alternative["required"]) for alternative in alternatives))
        said = {word: member for word, member in value.items() if word not in ("oneOf", "discriminator")}
        return {**said, "type": "object", "required": sorted(required), "properties": properties}


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
    if value.get("additionalProperties") is False or any(word in value for word in CLOSING):
        return True
    members = [member for word, member in value.items() if word not in (*UNTOUCHED, "properties")]
    return any(map(is_closed, [*members, *value.get("properties", {}).values()]))


def with_known_values(schema: Schema) -> Schema:
    """Return a schema that names its values, if they are not too many, without excluding others."""
    made = {word: member for word, member in schema.items() if word not in CLOSING}
    if made.get("additionalProperties") is False:
        del made["additionalProperties"]
    values = [schema["const"]] if "const" in schema else schema.get("enum", [])
    if 0 < len(values) <= MOST_VALUES:
        made[KNOWN_VALUES] = [value for value in values if value is not None]
    return made
