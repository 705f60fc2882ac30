"""What is so at the moment, noted each second."""

import asyncio
from time import perf_counter

from licensing.access.event_loop.gateway import Gateway
from licensing.access.event_loop.metrics import entries, loop_delay, waiting


async def sample(gateway: Gateway, every: float = 1.0) -> None:
    """Notes each second what is so at the moment: which process will be asked is not known."""
    while True:
        begun = perf_counter()
        await asyncio.sleep(every)
        loop_delay.values[0] = max(perf_counter() - begun - every, 0.0)
        note_state(gateway)


def note_state(gateway: Gateway) -> None:
    waiting.values[0] = len(gateway.records.waiting)
    entries.values[0] = len(gateway.snapshot.entries) + len(gateway.snapshot.grants)
