"""Named components of the OpenAPI document, and adjustments of drf-spectacular's output to OpenAPI 3.1."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Model
from django.utils.module_loading import import_string

from kit.values import ids

COMPONENT = "x-component"  # in a schema: the name of its component
SCHEMAS = "#/components/schemas/"
NULL = {"type": "null"}
DROPPED = frozenset({COMPONENT, "x-spec-enum-id"})


def reference(name: str) -> dict[str, str]:
    return {"$ref": f"{SCHEMAS}{name}"}


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that also allows null."""
    if COMPONENT not in schema and isinstance(schema.get("type"), str):
        with_null = {**schema, "type": [schema["type"], "null"]}
        return {**with_null, "enum": [*schema["enum"], None]} if "enum" in schema else with_null
    return {"anyOf": [schema, NULL]}


def without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without null, for a field that is never null in responses."""
    for union in {"anyOf", "oneOf"} & schema.keys():
        return {**schema, union: [alternative for alternative in schema[union] if alternative != {"type": "null"}]}
    if isinstance(schema.get("type", ""), str):
        return schema
    return {**schema, "type": next(name for name in schema["type"] if name != "null")}


def enumerations(paths: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the values of each enumeration; `paths` maps names to dotted paths of enums, choices or sequences."""
    return {
        name: [str(choice[0] if isinstance(choice, tuple) else choice) for choice in import_string(path)]
        for name, path in paths.items()
    }


def used_schemas(schemas: Mapping[str, object], *users: object) -> set[str]:
    """Return the names of the schemas that `users` refer to, directly or through other schemas."""
    used: set[str] = set()
    newly_used = set(references(list(users)))
    while newly_used:
        used |= newly_used
        newly_used = set(references([schemas[name] for name in newly_used])) - used
    return used


def references(value: object) -> Iterator[str]:
    """Yield the names of the schemas that a part of the document refers to."""
    if isinstance(value, list):
        for member in value:
            yield from references(member)
    elif isinstance(value, dict):
        target = value.get("$ref")
        if isinstance(target, str) and target.startswith(SCHEMAS):
            yield target.removeprefix(SCHEMAS)
        for member in value.values():
            yield from references(member)


class Components:
    """Replaces named schemas by references, and collects them in `schemas`.

    A name comes from COMPONENT in a schema, or from `enumerations`, lists of values with the same meaning everywhere.
    """

    def __init__(self, enumerations: Mapping[str, Sequence[str]]) -> None:
        self.schemas: dict[str, object] = {}
        self.enumerations = {frozenset(values): name for name, values in enumerations.items()}

    def hoisted(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.hoisted(member) for member in value]
        if not isinstance(value, dict):
            return value
        members = {name: self.member(name, member) for name, member in value.items() if name not in DROPPED}
        if isinstance(members.get("pattern"), str):
            # in Python `$` also matches before a final newline, in ECMAScript not
            members["pattern"] = members["pattern"].replace(r"\Z", "$")
        if COMPONENT in value:
            self.schemas.setdefault(value[COMPONENT], members)
            return reference(value[COMPONENT])
        if isinstance(members.get("enum"), list):
            return self.named_enumeration(members)
        if {} in members.get("oneOf", ()):  # `{}` allows any value, including null
            del members["oneOf"]
        for composed in ("allOf", "oneOf"):
            match members.get(composed):
                case [{"$ref": target}]:  # OpenAPI 3.0 did not allow siblings of `$ref`
                    return {**{name: member for name, member in members.items() if name != composed}, "$ref": target}
        return members

    def member(self, name: str, value: Any) -> Any:
        if name == "properties":  # property names are not keywords
            return {field: self.hoisted(schema) for field, schema in value.items()}
        return value if name in ("example", "examples", "enum", "default") else self.hoisted(value)

    def named_enumeration(self, schema: dict[str, Any]) -> dict[str, Any]:
        values = [value for value in schema["enum"] if value is not None]
        name = self.enumerations.get(frozenset(map(str, values)))
        if name is None:
            return schema
        type_ = "string" if isinstance(values[0], str) else "integer"
        self.schemas.setdefault(name, {"type": type_, "enum": values})
        siblings = {word: member for word, member in schema.items() if word not in ("type", "enum")}
        has_null = len(values) < len(schema["enum"])
        return siblings | (nullable(reference(name)) if has_null else reference(name))


def path_id(model: type[Model]) -> dict[str, object]:
    """Return the JSON schema of a resource's id in a path: a generated id, or one that callers choose."""
    if not isinstance(model._meta.pk, ids.IdField):
        return {"type": "string", "minLength": 1, "maxLength": 255, "example": "org_acme"}
    prefix = ids.id_prefix(model)
    return {
        "type": "string",
        "pattern": f"^{prefix}_{ids.TEXT}$",
        "example": ids.encode(prefix, bytes(range(1, 17))),
    }
