"""The current actor, set where a request or a command begins and read wherever a change is recorded."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes a change. Records copy `id` and `name`, because they outlive the key or user they refer to."""

    type: str
    id: str | None = None
    name: str | None = None
    address: str | None = None


SYSTEM = Actor("system")  # the service itself, and code that sets no actor

current_actor: ContextVar[Actor] = ContextVar("current_actor", default=SYSTEM)


@contextmanager
def acting_as(actor: Actor) -> Iterator[None]:
    """Record all changes within the block as made by this actor."""
    token = current_actor.set(actor)
    try:
        yield
    finally:
        current_actor.reset(token)
