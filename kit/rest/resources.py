"""Finding a resource by its id, and the fields of it that `fields` selects; `object` and `id` are always included."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TypeVar
from urllib.parse import quote

from django.apps import apps
from django.db.models import ForeignKey, Model, QuerySet
from rest_framework.serializers import BaseSerializer

from kit.http.errors import InvalidRequest, NotFound
from kit.rest.export import fields_of
from kit.values import ids
from kit.values.json_values import Rendered
from kit.values.suggestions import did_you_mean

M = TypeVar("M", bound=Model)
R = TypeVar("R")


def referred_model(model: type[Model], name: str) -> type[Model]:
    """Return the model that a foreign key refers to. Raises TypeError for another field."""
    field = model._meta.get_field(name)
    if not isinstance(field, ForeignKey):
        raise TypeError(f"{model.__name__}.{name} is no foreign key.")
    return field.target_field.model


def find(queryset: QuerySet[M], id: str) -> M:
    """Return the resource with this id from `queryset`, which the caller has scoped to the account.

    Raises the same NotFound for another account's resource, for an unknown id and for a malformed one.
    """
    possible = ids.decode(ids.id_prefix(queryset.model), id) is not None
    return require_resource(queryset.model, id, next(iter(queryset.filter(pk=id)), None) if possible else None)


def require_resource(model: type[Model], id: str, resource: R | None) -> R:
    """Return `resource`, the row with this id or a query's result about it. Raises NotFound if it is None."""
    if resource is None:
        raise NotFound(unknown(ids.id_prefix(model), id))
    return resource


@cache
def models_by_prefix() -> dict[str, type[Model]]:
    """Return the models by the prefix of their ids. A view that the API serves counts before its table."""
    by_prefix: dict[str, type[Model]] = {}
    for model in sorted(apps.get_models(), key=lambda model: model._meta.managed):
        key = model._meta.pk
        if isinstance(key, ids.IdField):
            by_prefix.setdefault(key.prefix, model)
    return by_prefix


def unknown(prefix: str, id: str) -> str:
    """Return the message for an id that does not exist. If it cannot be one, say how to find the id.

    A model's `searched_by` has the lists that find its ids by something else, such as `/v1/content?externalId=`.
    """
    model = models_by_prefix()[prefix]
    return f"There is no {model._meta.verbose_name} {id[:100]!r}.{id_hint(prefix, id)}"


def id_hint(prefix: str, id: str) -> str:
    if ids.decode(prefix, id) is not None:
        return ""
    if id.startswith(f"{prefix}_"):
        return f" An id has 26 lower-case letters and digits after {prefix}_."
    hint = f" An id begins with {prefix}_."
    if paths := getattr(models_by_prefix()[prefix], "searched_by", ()):
        hint += f" Find it with {' or '.join(f'GET {path}{quote(id[:100])}' for path in paths)}."
    return hint


ALWAYS = frozenset({"object", "id"})


def fields_parameter(serializer: type[BaseSerializer]) -> dict[str, object]:
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
    names, available = text.split(","), [name for name, _ in fields_of(serializer)]
    for name in names:
        if name not in available:
            choices = f"{', '.join(available)}.{did_you_mean(name, available)}"
            raise InvalidRequest(f"fields names {name[:100]!r}; there are: {choices}", param="fields")
    return (ALWAYS | frozenset(names)) - hidden


def pick_fields(shown: Rendered, fields: frozenset[str] | None) -> Rendered:
    return shown if fields is None else {name: value for name, value in shown.items() if name in fields}


def columns_picked(columns: Iterable[str], fields: frozenset[str] | None) -> list[str]:
    """Return the columns of a file that belong to the fields."""
    return [column for column in columns if fields is None or column.partition(".")[0] in fields]
