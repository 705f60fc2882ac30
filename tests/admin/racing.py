"""Simulate two operators who submit at the same moment."""

from collections.abc import Callable
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any

PATIENCE = 0.5  # seconds to wait for the other operator


def meeting(write: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a service so that two callers write together; a lone caller proceeds after a timeout."""
    barrier = Barrier(2, timeout=PATIENCE)

    def waiting(*args: Any, **fields: Any) -> Any:
        with suppress(BrokenBarrierError):
            barrier.wait()
        return write(*args, **fields)

    return waiting
