"""Imported by each Python process of the world on start, through PYTHONPATH.

libfaketime 0.9.10 shifts the deadline of clock_nanosleep even for the monotonic clock, which is not faked here, so
time.sleep always fails. This replaces it by a wait in select.
"""

import select
import time


def sleep(seconds: float) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    select.select([], [], [], seconds)


time.sleep = sleep
