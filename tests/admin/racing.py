"""Simulate two operators who submit at the same moment."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any

from django.db import connections

PATIENCE = 0.5  # seconds to wait for the other operator


def meeting(write: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a service so that two callers write together; a lone caller proceeds after a timeout."""
    barrier = Barrier(2, timeout=PATIENCE)

    def waiting(*args: Any, **fields: Any) -> Any:
        with suppress(BrokenBarrierError):
            barrier.wait()
        return write(*args, **fields)

    return waiting


def both(*actions: Callable[[], Any]) -> list[Any]:
    """Run the actions in parallel threads with separate connections; return their results."""

    def run(action: Callable[[], Any]) -> Any:
        try:
            return action()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(run, actions))
