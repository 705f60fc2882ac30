"""The current actor: set once, where a request or a command begins; read wherever a change is recorded."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes a change. `id` and `name` are copied into records, which outlive what they refer to."""

    type: str
    id: str | None = None
    name: str | None = None
    address: str | None = None


SYSTEM = Actor("system")  # the service by itself, and code that said nothing

current_actor: ContextVar[Actor] = ContextVar("current_actor", default=SYSTEM)


@contextmanager
def acting_as(actor: Actor) -> Iterator[None]:
    """Records changes within the block as this actor's."""
    token = current_actor.set(actor)
    try:
        yield
    finally:
        current_actor.reset(token)
