"""Windows of limits and their state."""

from msgspec import Struct

MINUTE, DAY = 60, 86_400
# Seconds. Windows only move forward, so that a process with a late clock cannot reopen an old one. One that begins
# further ahead comes from a clock that has been set back, and would refuse requests until its time.
MOST_AHEAD = 300


class Window(Struct, frozen=True, gc=False):
    """`limit` requests per `seconds`, aligned to the Unix epoch (so a day is a UTC day)."""

    limit: int
    seconds: int


class LimitState(Struct, frozen=True, gc=False):
    """The content of the rate-limit headers, for the window with the least left."""

    allowed: bool
    limit: int
    remaining: int
    reset: int  # Unix seconds
    retry_after: int | None  # seconds, if rejected
    windows: tuple[Window, ...]
    seconds: int  # length of that window
    seconds_left: int
    is_near: bool  # at least four fifths of a window are used

    @classmethod
    def of(cls, windows: tuple[Window, ...], used: list[int], now: int, *, allowed: bool) -> "LimitState":
        remaining, window, is_near = -1, windows[0], False
        for one, count in zip(windows, used, strict=True):
            limit = one.limit
            left = limit - count if count < limit else 0
            if left * 5 <= limit:
                is_near = True
            # If two are used up, the longer one determines the retry; it comes last.
            if remaining < 0 or left < remaining or left == 0:
                remaining, window = left, one
        reset = (now // window.seconds + 1) * window.seconds
        left = reset - now
        retry_after = None if allowed else left
        return cls(allowed, window.limit, remaining, reset, retry_after, windows, window.seconds, left, is_near)


class Consume(Struct, frozen=True, gc=False):
    """A request to count `cost` in a bucket; 0 only checks the limits.

    A meter (`is_meter`) counts beyond its limits too, and never refuses. `at` (Unix seconds) chooses the windows to
    count in; without it they are the current ones.
    """

    bucket: str
    windows: tuple[Window, ...]
    cost: int = 1
    is_meter: bool = False
    at: int | None = None

    def moment(self, now: int) -> int:
        return now if self.at is None else self.at

    def room(self, window: Window, used: int) -> int:
        """Return how much more may be counted in the window."""
        return self.cost if self.is_meter else window.limit - used
