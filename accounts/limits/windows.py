"""Windows of limits: which of them a request counts in (docs/reference/limits.md), their state, and its headers."""

from collections.abc import Sequence
from functools import lru_cache
from threading import Lock

from msgspec import Struct
from msgspec.structs import replace

from accounts.keys.authentication import Grant
from kit.http.errors import RateLimitExceeded
from kit.http.headers import client_network
from kit.values.networks import Address

MINUTE, HOUR, DAY = 60, 3_600, 86_400
# Prefixes of buckets: of an account's plan, of its meter at the edge, and of an address without a key.
ACCOUNT, AT_EDGE, ADDRESS = "account:", "edge:", "address:"
PUBLIC = "public"  # the part of an account's bucket that its public keys share
PERIODS = {MINUTE: "a minute", HOUR: "an hour", DAY: "a day"}
NAMES = {MINUTE: '"minute"', HOUR: '"hour"', DAY: '"day"'}  # window names as structured field strings
PUBLIC_ADDRESS = f"{PUBLIC}:{ADDRESS}"  # prefix of the part that counts an address with public keys
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


Group = tuple[str, tuple[Window, ...]]  # bucket and windows of a Hit


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

    def check(self) -> None:
        """Raise RateLimitExceeded if the request was not granted."""
        if self.allowed:
            return
        whose = ""
        if self.part == PUBLIC:
            whose = " for the account's public keys"
        elif self.part.startswith(PUBLIC_ADDRESS):
            whose = " with public keys from one address"
        elif self.part:
            whose = " of this key"
        raise RateLimitExceeded(
            f"The limit of {self.limit} requests {PERIODS[self.seconds]}{whose} is used up. "
            f"Try again in {self.retry_after} seconds.",
            retry_after=self.retry_after,
        )


class Hit(Struct, frozen=True, gc=False):
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

    def room(self, window: Window, used: int) -> int:
        """Return how much more may be counted in the window."""
        return self.cost if self.is_meter else window.limit - used


ANONYMOUS = (Window(60, MINUTE),)
PUBLIC_PER_ADDRESS = 60  # requests a minute with public keys, from one address


def address_bucket(address: Address | None) -> str:
    """Return the bucket of an address; addresses of an IPv6 /64 share one."""
    return f"{ADDRESS}{'unknown' if address is None else client_network(address)}"


@lru_cache(maxsize=10_000)
def plan_hit(account_id: str, per_minute: int, per_day: int) -> Hit:
    return Hit(f"{ACCOUNT}{account_id}", (Window(per_minute, MINUTE), Window(per_day, DAY)))


@lru_cache(maxsize=10_000)
def edge_hit(account_id: str, per_minute: int, per_day: int) -> Hit:
    """Return what an edge request consumes: a meter, which never refuses a visitor."""
    return Hit(f"{AT_EDGE}{account_id}", (Window(per_minute, MINUTE), Window(per_day, DAY)), is_meter=True)


def build_hit(grant: Grant | None, address: Address | None, cost: int = 1) -> Hit:
    """Return what a request consumes: of its key's limits or, without a key, of its address's."""
    if grant is None:
        return Hit(address_bucket(address), ANONYMOUS, cost)
    per_minute, per_day = grant.limits
    if grant.is_public:
        # Public keys have counters of their own, so that a web page's visitors take nothing from the account's secret
        # keys: half of the plan's minute and day, and at least one request.
        counter = f"{PUBLIC}:{address_bucket(address)}"
        windows = (
            Window(max(per_minute // 2, 1), MINUTE, PUBLIC),
            Window(max(per_day // 2, 1), DAY, PUBLIC),
            Window(PUBLIC_PER_ADDRESS, MINUTE, counter),
        )
        hit = Hit(f"{ACCOUNT}{grant.account_id}", windows)
    else:
        hit = plan_hit(grant.account_id, per_minute, per_day)
    if grant.own_limit is not None:
        own = Window(*grant.own_limit, f"key:{grant.key_id}")
        hit = replace(hit, windows=(*hit.windows, own))
    return hit if cost == hit.cost else replace(hit, cost=cost)


# The number of granted requests, and each window's count before.
Consumed = tuple[int, list[int]]


def build_headers(state: LimitState) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(state.limit),
        "X-RateLimit-Remaining": str(state.remaining),
        "X-RateLimit-Reset": str(state.reset),
        "RateLimit-Policy": render_policy(state.windows),
        "RateLimit": f"{window_label(state.seconds, state.part)};r={state.remaining};t={state.seconds_left}",
    }


@lru_cache(maxsize=1_000)
def render_policy(windows: tuple[Window, ...]) -> str:
    """Return the value of `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers)."""
    return ", ".join(
        f"{window_label(window.seconds, window.part)};q={window.limit};w={window.seconds}" for window in windows
    )


def window_label(seconds: int, part: str) -> str:
    """Return the window's name in headers, as a structured field string. The names of a caller's windows differ."""
    if part in ("", PUBLIC):
        return NAMES[seconds]
    return '"address"' if part.startswith(PUBLIC_ADDRESS) else '"key"'


def counts_address(counter: str) -> bool:
    """Whether the counter belongs to one client address, of which there may be any number."""
    return counter.startswith(ADDRESS) or f":{PUBLIC_ADDRESS}" in counter


class ProcessCounters:
    """Counts in this process, shared by its threads."""

    MAX_BUCKETS = 100_000  # beyond this, expired buckets are dropped; beyond ten times this, all anonymous ones

    def __init__(self) -> None:
        self.lock = Lock()
        self.tidied_in = 0  # the minute of the last cleanup, which is too slow for every request
        self.buckets: dict[tuple[str, int], tuple[int, int]] = {}  # (counter, seconds) → (window number, count)

    def consume(self, hits: Sequence[Hit], now: int) -> list[Consumed]:
        """Grant each consumer as much of its cost as all its windows allow, and count it in all of them."""
        with self.lock:
            if len(self.buckets) > self.MAX_BUCKETS and now // MINUTE != self.tidied_in:
                self.tidy(now)
            return [self.consume_one(hit, now) for hit in hits]

    def tidy(self, now: int) -> None:
        self.tidied_in = now // MINUTE
        self.buckets = {key: kept for key, kept in self.buckets.items() if kept[0] >= now // key[1]}
        if len(self.buckets) > 10 * self.MAX_BUCKETS:
            self.buckets = {key: kept for key, kept in self.buckets.items() if not counts_address(key[0])}

    def consume_one(self, hit: Hit, now: int) -> Consumed:
        numbers, used, now = [], [], hit.at or now
        for window in hit.windows:
            number, count = self.buckets.get((hit.counter_name(window), window.seconds), (0, 0))
            begun = now // window.seconds > number or number * window.seconds > now + MOST_AHEAD
            numbers.append(now // window.seconds if begun else number)
            used.append(0 if begun else count)
        room = min(hit.room(window, count) for window, count in zip(hit.windows, used, strict=True))
        granted = max(min(hit.cost, room), 0)
        if granted:
            for window, number, count in zip(hit.windows, numbers, used, strict=True):
                self.buckets[hit.counter_name(window), window.seconds] = (number, count + granted)
        return granted, used
