"""The world's time: the machine's own plus an offset that all of the world's processes read from one file.

libfaketime (Debian: `apt install faketime`) is loaded before a process's own libraries and adds the offset to its wall
clock. The product has no switch for this. Monotonic time stays real, so timeouts and connection pools are unaffected.
"""

import platform
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock

LIBRARY = Path(f"/usr/lib/{platform.machine()}-linux-gnu/faketime/libfaketimeMT.so.1")


class WorldClock:
    def __init__(self, directory: Path, begins: datetime) -> None:
        """`directory` must be readable by PostgreSQL's user."""
        self.file = directory / "offset"
        self.offset: float | None = None
        self.lock = Lock()  # no process may read the old time after another could read the new one
        self.move_to(begins)
        self.environment = {
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_NO_CACHE": "1",  # each call reads the file, so a move applies everywhere at once
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            # Otherwise it takes monotonic deadlines of condition variables for others, and threads spin.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            "PYTHONPATH": str(Path(__file__).with_name("startup")),
        }

    def timestamp(self) -> float:
        with self.lock:
            assert self.offset is not None
            return time.time() + self.offset

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.timestamp(), UTC)

    def move_to(self, moment: datetime) -> None:
        """Set the time of all processes of the world. Time never goes back."""
        assert self.offset is None or moment >= self.now(), f"{moment} has passed: it is {self.now()}."
        self.set(moment)

    def set(self, moment: datetime) -> None:
        """Set the time of all processes, also back."""
        offset = moment.timestamp() - time.time()
        draft = self.file.with_suffix(".draft")
        draft.write_text(f"{offset:+.6f}\n")
        draft.chmod(0o644)
        with self.lock:
            draft.rename(self.file)  # readers see the old offset or the new one, never half of it
            self.offset = offset

    def advance(self, **delta: float) -> None:
        self.move_to(self.now() + timedelta(**delta))
