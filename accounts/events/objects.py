"""How events show their objects: like the API. Each app registers its own kinds at startup."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from rest_framework.serializers import BaseSerializer

Fields = dict[str, object]


class Resource(Protocol):
    """A model with an id, whose changes write events."""

    @property
    def pk(self) -> object: ...


def to_api_names(former: Mapping[str, object]) -> Fields:
    """Convert field names of the audit log to the API's: `metadata.author` becomes `author` in `metadata`."""
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
    """`show` renders a resource like the API; `former` converts previous values from the audit log to the
    API's shape.
    """

    show: Callable[..., object]
    example: Fields
    former: Callable[[Mapping[str, object]], Fields] = to_api_names


objects: dict[str, ShownObject] = {}


def register(
    kind: str,
    serializer: BaseSerializer,
    example: Fields,
    former: Callable[[Mapping[str, object]], Fields] = to_api_names,
) -> None:
    """Register a kind of resource; `kind` is the first half of its audit actions."""
    objects[kind] = ShownObject(serializer.to_representation, example, former)


def register_plain(kind: str, example: Fields) -> None:
    """Register a kind without a model: the code that writes its events builds `data`."""
    objects[kind] = ShownObject(dict, example)
