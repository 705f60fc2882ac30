"""Schemas that become named components of the OpenAPI document, and what OpenAPI 3.0 words in its own way."""

from typing import Any

COMPONENT = "x-component"  # in a schema: the name of the component that it becomes


def hoisted(value: Any, schemas: dict[str, Any]) -> Any:
    """The value, in which each schema that is marked as a component is a reference to it; patterns in ECMA's words."""
    if isinstance(value, list):
        return [hoisted(member, schemas) for member in value]
    if not isinstance(value, dict):
        return value
    made = {name: hoisted(member, schemas) for name, member in value.items() if name != COMPONENT}
    if isinstance(made.get("pattern"), str):
        made["pattern"] = made["pattern"].replace(r"\Z", "$")  # Python's $ would let a final newline pass; ECMA's not
    if made.get("nullable") is True and "type" not in made:
        if "allOf" in made:
            made["type"] = "object"
        else:
            del made["nullable"]  # any value: null is one
    if COMPONENT not in value:
        return made
    nullable = {"nullable": made.pop("nullable")} if "nullable" in made else {}
    schemas.setdefault(value[COMPONENT], made)
    reference = {"$ref": f"#/components/schemas/{value[COMPONENT]}"}
    return {"type": "object", **nullable, "allOf": [reference]} if nullable else reference
