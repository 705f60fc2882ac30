"""Two operators who press a button at the same moment."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any

from django.db import connections

PATIENCE = 0.5  # seconds that one waits for the other, where they can meet at all


def meeting(write: Callable[..., Any]) -> Callable[..., Any]:
    """A service that waits before its write until the other operator has come as far, if that one can."""
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
