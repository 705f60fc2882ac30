"""Finding a resource by the id in the path."""

from typing import TypeVar

from django.db.models import ForeignKey, Model, QuerySet

from kit.http.errors import NotFound
from kit.values import ids

M = TypeVar("M", bound=Model)


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
    possible = ids.decode(ids.prefix_of(queryset.model), id) is not None
    return require_resource(queryset.model, id, next(iter(queryset.filter(pk=id)), None) if possible else None)


def require_resource(model: type[M], id: str, resource: M | None) -> M:
    """Return the resource. Raises NotFound if it is None."""
    if resource is None:
        raise NotFound(f"There is no {model._meta.verbose_name} {id[:100]!r}.")
    return resource
