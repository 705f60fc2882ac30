"""How often somebody may try to sign in: by name and by address, counted as plan limits are, over all processes.

Every attempt counts, also one that succeeds: what is counted before the password is looked at cannot be raced.
"""

from hashlib import sha256
from typing import Any
from unicodedata import normalize

from accounts.limits import Take, Window, limiter

QUARTER = 15 * 60
PER_NAME = (Window(10, QUARTER),)
PER_ADDRESS = (Window(50, QUARTER),)  # several people may share one


def bucket(kind: str, text: str) -> str:
    """A bucket for what somebody typed, of bounded length whatever that was."""
    return f"login:{kind}:{sha256(normalize('NFKC', text).casefold().encode()).hexdigest()[:32]}"


def seconds_to_wait(username: str, address: Any) -> int | None:
    """Counts an attempt; how long to wait where there were too many, else None."""
    states = limiter.take_many(
        [
            Take(bucket("address", str(address)), PER_ADDRESS),
            Take(bucket("name", username), PER_NAME),
        ]
    )
    waits = [state.retry_after or 1 for state in states if not state.allowed]
    return max(waits, default=None)


def in_words(seconds: int) -> str:
    """A time to wait, rounded up."""
    minutes = -(-seconds // 60)
    return f"{minutes} minute{'s' if minutes > 1 else ''}"
