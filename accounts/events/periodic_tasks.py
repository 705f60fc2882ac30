"""Registry of periodic work that writes events when time has passed; the webhook worker runs it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class PeriodicTask:
    """Periodic work. `act` must tolerate running in several processes at once."""

    act: Callable[[], object]
    interval: timedelta

    @property
    def name(self) -> str:
        """Its name in metrics, such as `announce_deadlines`."""
        return f"announce_{self.act.__module__.rpartition('.')[2]}"


registered: list[PeriodicTask] = []


def register(act: Callable[[], object], interval: timedelta) -> None:
    registered.append(PeriodicTask(act, interval))
