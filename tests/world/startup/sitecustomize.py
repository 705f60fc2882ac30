"""Imported by each Python process of the world as it starts: it is on their PYTHONPATH.

libfaketime 0.9.10 shifts the deadline of clock_nanosleep even where it is one of the monotonic clock, which is not
faked here, so that time.sleep always fails. Waiting in select is as good.
"""

import select
import time


def sleep(seconds: float) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    select.select([], [], [], seconds)


time.sleep = sleep
