"""How an event shows its object: as the API does. Each app registers its own kinds when it is ready."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from rest_framework.serializers import BaseSerializer

Fields = dict[str, object]


class Resource(Protocol):
    """A model with an id, whose changes have events."""

    @property
    def pk(self) -> object: ...


def nested(former: Mapping[str, object]) -> Fields:
    """The audit log's fields as the API's: `metadata.author` becomes `author` in `metadata`."""
    shown: Fields = {}
    groups: dict[str, Fields] = {}
    for name, value in former.items():
        outer, _, inner = name.partition(".")
        if inner:
            shown[outer] = group = groups.setdefault(outer, {})
            group[inner] = value
        else:
            shown[name] = value
    return shown


@dataclass(frozen=True)
class ShownObject:
    """`show` renders a resource as the API does; `former` turns the audit log's former values into the API's."""

    show: Callable[..., object]
    example: Fields
    former: Callable[[Mapping[str, object]], Fields] = nested


objects: dict[str, ShownObject] = {}


def register(
    kind: str,
    serializer: BaseSerializer,
    example: Fields,
    former: Callable[[Mapping[str, object]], Fields] = nested,
) -> None:
    """Registers a kind of resource; `kind` is the first half of its actions in the audit log."""
    objects[kind] = ShownObject(serializer.to_representation, example, former)


def register_plain(kind: str, example: Fields) -> None:
    """Registers a kind that is no resource: whoever writes its events makes their `data`."""
    objects[kind] = ShownObject(dict, example)
