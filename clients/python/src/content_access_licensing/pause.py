"""When not to ask the service, so that a stalled or slow service does not use up the site's workers."""

from collections.abc import Callable

TIMEOUT = 2.0  # seconds to wait for the whole reply
PAUSE = 10.0  # seconds without questions
SLOW_ANSWERS = 10  # in a row, each over half of TIMEOUT, within SLOW_ANSWERS * TIMEOUT: the service is slow


class Pause:
    """A pause of all questions after a timeout, and of those about open pages while the service is slow.

    Times are by monotonic(). Threads share this without a lock: they may lose a note, or ask at the same time.
    """

    def __init__(self) -> None:
        self.until = 0.0
        self.slow: tuple[float, ...] = ()  # times of the newest answers in a row that were slow
        self.slow_until = 0.0  # 0 while the service is quick

    def is_on(self, now: float, stays_open: Callable[[], bool]) -> bool:
        """Whether to leave out the question. A slow service gets one about open pages every PAUSE seconds."""
        if now < self.until:
            return True
        if not self.slow_until or not stays_open():
            return False
        is_paused = now < self.slow_until
        if not is_paused:
            self.slow_until = now + PAUSE  # for the others: this visit asks
        return is_paused

    def note(self, now: float, seconds: float) -> bool:
        """Note how long an answer took. Return whether it made the service count as slow."""
        if seconds < TIMEOUT / 2:
            self.slow, self.slow_until = (), 0.0
            return False
        self.slow = slow = (*self.slow, now)[-SLOW_ANSWERS:]
        is_slow = len(slow) == SLOW_ANSWERS and now - slow[0] <= SLOW_ANSWERS * TIMEOUT
        if is_slow:
            self.slow_until = now + PAUSE
        return is_slow
