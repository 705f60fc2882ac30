"""Sparse replies: `fields` selects the fields of a reply; `object` and `id` are always included."""

from collections.abc import Iterable, Mapping

from rest_framework.serializers import BaseSerializer

from kit.http.errors import InvalidRequest
from kit.rest.export import fields_of
from kit.values.json_values import Rendered
from kit.values.suggestions import did_you_mean

ALWAYS = frozenset({"object", "id"})


def parameter(serializer: type[BaseSerializer]) -> dict[str, object]:
    """Return the OpenAPI parameter `fields`."""
    name = f"({'|'.join(name for name, _ in fields_of(serializer))})"
    return {
        "name": "fields",
        "in": "query",
        "description": "Names of fields, separated by commas: a resource has these alone, and `object` and `id`.",
        "schema": {"type": "string", "pattern": f"^{name}(,{name})*$"},
    }


def requested_fields(
    query: Mapping[str, str], serializer: type[BaseSerializer], hidden: frozenset[str] = frozenset()
) -> frozenset[str] | None:
    """Return the requested fields without hidden ones, or None for all. Raises InvalidRequest for an unknown one."""
    text = query.get("fields")
    if text is None:
        return frozenset(name for name, _ in fields_of(serializer)) - hidden if hidden else None
    asked, known = text.split(","), [name for name, _ in fields_of(serializer)]
    for name in asked:
        if name not in known:
            choices = f"{', '.join(known)}.{did_you_mean(name, known)}"
            raise InvalidRequest(f"fields names {name[:100]!r}; there are: {choices}", param="fields")
    return (ALWAYS | frozenset(asked)) - hidden


def pick_fields(shown: Rendered, fields: frozenset[str] | None) -> Rendered:
    return shown if fields is None else {name: value for name, value in shown.items() if name in fields}


def columns_picked(columns: Iterable[str], fields: frozenset[str] | None) -> list[str]:
    """Return the columns of a file that belong to the fields."""
    return [column for column in columns if fields is None or column.partition(".")[0] in fields]
