"""What writes events because time has passed, and how often whoever delivers webhooks lets it look."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class Look:
    """`act` may run in several processes at once, and beside them."""

    act: Callable[[], object]
    every: timedelta


looks: list[Look] = []


def register(act: Callable[[], object], every: timedelta) -> None:
    looks.append(Look(act, every))
