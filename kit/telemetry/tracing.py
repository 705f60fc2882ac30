"""Marks for functions that traces show.

A mark has no effect by itself; config.tracing wraps marked functions only if tracing is on, so it costs nothing
otherwise.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])
Describe = Callable[..., Mapping[str, str | bool]]


@dataclass(frozen=True)
class Mark:
    """A marked function. `role` decides how it is wrapped; a `step` gets a span with this name, on that `system`.

    `describe` turns the return value of a step into further span attributes.
    """

    function: Callable[..., object]
    role: str
    name: str
    system: str
    describe: Describe | None


MARKS: list[Mark] = []


def traced(
    name: str = "", *, role: str = "step", system: str = "", describe: Describe | None = None
) -> Callable[[F], F]:
    """Mark a module's function or a class's method."""

    def mark(function: F) -> F:
        MARKS.append(Mark(function, role, name, system, describe))
        return function

    return mark
