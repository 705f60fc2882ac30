"""Looking a resource up by the id in the path."""

from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from kit.http.errors import NotFound
from kit.values import ids

M = TypeVar("M", bound=Model)


def find(queryset: QuerySet[M], id: str) -> M:
    """The resource with that id in `queryset`, which the caller has scoped to the account.

    NotFound says the same of another account's resource, of one that never existed, and of what cannot be an id.
    """
    pk: Any = queryset.model._meta.pk
    if ids.decode(pk.prefix, id) is not None:
        resource = queryset.filter(pk=id).first()
        if resource is not None:
            return resource
    name = queryset.model._meta.verbose_name
    raise NotFound(f"There is no {name} {id[:100]!r}.")
