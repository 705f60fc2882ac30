"""Strategies for fact values, derived from the table in licensing.policies.facts."""

from typing import Any

import msgspec
from hypothesis import strategies as st

from licensing.policies.facts import SENT_FACTS, Fact
from licensing.policies.schemas import simplify

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12).filter(
    lambda text: text == text.strip()  # as a form reads it
)
ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
OF_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "integer": st.integers(-99, 99),
    "number": NUMBERS,
}


def from_schema(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for values of the JSON Schema kinds that facts have."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("format") == "ip":
        return ADDRESSES
    if "anyOf" in schema and "type" not in schema:
        return st.one_of([from_schema(one) for one in schema["anyOf"]])
    if schema["type"] == "array":
        return st.lists(from_schema(schema["items"]), min_size=1, max_size=3, unique=True)
    if schema["type"] == "object":
        keys = st.from_regex(
            schema["propertyNames"]["pattern"].replace("$", r"\Z"), alphabet=st.characters(codec="ascii")
        )
        return st.dictionaries(keys, from_schema(schema["additionalProperties"]), max_size=4)
    if schema["type"] == "string":
        least, most = schema.get("minLength", 0), schema.get("maxLength", 100)
        return TEXTS.filter(lambda text: least <= len(text) <= most)
    return OF_TYPE[schema["type"]]


def values_of(fact: Fact) -> st.SearchStrategy[Any]:
    return from_schema(simplify(msgspec.json.schema(fact.type)))


def sent_in(part: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for facts in this part of a check."""
    return st.fixed_dictionaries({}, optional={fact.key: values_of(fact) for fact in SENT_FACTS[part]})
