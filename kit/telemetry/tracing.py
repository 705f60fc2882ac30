"""Marks on what traces show, at the place itself. A mark changes nothing: only where traces are switched on is what is
marked wrapped (config.tracing), so that it costs nothing where they are off.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])
Describe = Callable[..., Mapping[str, str | bool]]


@dataclass(frozen=True)
class Mark:
    """`role` says how the function is wrapped: a `step` gets a span of that name, `system` being what it asks.

    `describe` takes what a step returned and gives further attributes of its span.
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
    """Marks a function of a module or a method of a class."""

    def mark(function: F) -> F:
        MARKS.append(Mark(function, role, name, system, describe))
        return function

    return mark
