"""Log what many requests have in common once a minute."""

import logging
from threading import Lock
from time import monotonic

SILENT_SECONDS = 60.0


class RepeatedLog:
    """Logs each cause at most once a minute, with the number of failures in between. The causes must be few."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.logged: dict[str, float] = {}  # when each cause was logged last
        self.silent: dict[str, int] = {}  # failures since then

    def log(self, logger: logging.Logger, level: int, cause: str, message: str) -> None:
        now = monotonic()
        with self.lock:
            if now - self.logged.get(cause, -SILENT_SECONDS) < SILENT_SECONDS:
                self.silent[cause] = self.silent.get(cause, 0) + 1
                return
            self.logged[cause] = now
            before = self.silent.pop(cause, 0)
        more = f" ({before:,} more failures since this was last logged)" if before else ""
        logger.log(level, "%s%s", message, more)
