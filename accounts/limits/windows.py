"""Windows of limits and their state."""

from msgspec import Struct

MINUTE, HOUR, DAY = 60, 3_600, 86_400
# Prefixes of buckets: of an account's plan, of its meter at the edge, and of an address without a key.
ACCOUNT, AT_EDGE, ADDRESS = "account:", "edge:", "address:"
PUBLIC_ADDRESS = "public:address:"  # prefix of the part of an account's bucket that counts an address with public keys
# Seconds. Windows only move forward, so that a process with a late clock cannot reopen an old one. One that begins
# further ahead comes from a clock that has been set back, and would refuse requests until its time.
MOST_AHEAD = 300


class Window(Struct, frozen=True, gc=False):
    """`limit` requests per `seconds`, aligned to the Unix epoch (so a day is a UTC day).

    `part` names a part of the bucket with counters of its own, such as the share of public keys.
    """

    limit: int
    seconds: int
    part: str = ""


Group = tuple[str, tuple[Window, ...]]  # bucket and windows of a Consume


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
    part: str  # of the bucket, to which that window belongs
    is_near: bool  # at least four fifths of a window are used

    @classmethod
    def from_counts(cls, windows: tuple[Window, ...], used: list[int], now: int, *, allowed: bool) -> "LimitState":
        remaining, window, is_near = -1, windows[0], False
        for each, count in zip(windows, used, strict=True):
            limit = each.limit
            left = limit - count if count < limit else 0
            if left * 5 <= limit:
                is_near = True
            # If several are used up, the longest one determines the retry.
            is_longer = left == 0 and each.seconds >= window.seconds
            if remaining < 0 or left < remaining or is_longer:
                remaining, window = left, each
        reset = (now // window.seconds + 1) * window.seconds
        left = reset - now
        retry_after = None if allowed else left
        seconds, part = window.seconds, window.part
        return cls(allowed, window.limit, remaining, reset, retry_after, windows, seconds, left, part, is_near)


class Consume(Struct, frozen=True, gc=False):
    """A request to count `cost` in all windows of a bucket, or in none; 0 only checks the limits.

    A meter (`is_meter`) counts beyond its limits too, and never refuses. `at` (Unix seconds) chooses the windows to
    count in; without it they are the current ones.
    """

    bucket: str
    windows: tuple[Window, ...]
    cost: int = 1
    is_meter: bool = False
    at: int | None = None

    @property
    def group(self) -> Group:
        """Return what simultaneous requests have in common if they are counted together."""
        return self.bucket, self.windows

    def counter_name(self, window: Window) -> str:
        """Return the name of the bucket's part that counts the window."""
        return f"{self.bucket}:{window.part}" if window.part else self.bucket

    def moment(self, now: int) -> int:
        return now if self.at is None else self.at

    def room(self, window: Window, used: int) -> int:
        """Return how much more may be counted in the window."""
        return self.cost if self.is_meter else window.limit - used
