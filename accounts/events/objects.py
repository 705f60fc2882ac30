"""How an event shows the object that it tells of: as the API shows it. Each app registers its own when it is ready."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rest_framework.serializers import BaseSerializer

Fields = dict[str, Any]


def nested(former: Mapping[str, Any]) -> Fields:
    """The audit log's fields as the API's: `metadata.author` becomes `author` in `metadata`."""
    shown: Fields = {}
    for name, value in former.items():
        outer, _, inner = name.partition(".")
        if inner:
            shown.setdefault(outer, {})[inner] = value
        else:
            shown[name] = value
    return shown


@dataclass(frozen=True)
class ShownObject:
    """`show` makes of a resource what the API would answer; `former` of the audit log's former values the API's."""

    show: Callable[[Any], Any]
    example: Fields
    former: Callable[[Mapping[str, Any]], Fields] = nested


objects: dict[str, ShownObject] = {}


def register(
    kind: str,
    serializer: BaseSerializer,
    example: Fields,
    former: Callable[[Mapping[str, Any]], Fields] = nested,
) -> None:
    """`kind` is the first half of the actions that the audit log has of it."""
    objects[kind] = ShownObject(serializer.to_representation, example, former)
