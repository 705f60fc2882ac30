"""How often somebody may try a password or a code, counted as plan limits are, over all processes.

Every attempt counts, also one that succeeds: what is counted before the password is looked at cannot be raced. Who
guesses must not lock out who is guessed at, so there are several counts:

- by address, of all names together. An address that has used its attempts up takes none from any name.
- by name, of everybody whose browser is not known. From many addresses these can be used up by anybody.
- by known browser: one in which the operator has signed in before has attempts of its own, whatever others try.
- by operator, of the forms behind the login that ask for the old password or for a code.

All run out by the clock within a quarter of an hour.
"""

from hashlib import sha256
from typing import Any
from unicodedata import normalize

from django.core.exceptions import ValidationError

from accounts.limits.limiter import Consume, Window, limiter
from accounts.limits.throttling import bucket_of_address

QUARTER = 15 * 60
PER_NAME = PER_BROWSER = PER_OPERATOR = (Window(10, QUARTER),)
PER_ADDRESS = (Window(50, QUARTER),)  # several people may share one


def bucket(kind: str, text: str) -> str:
    """A bucket for what somebody typed, of bounded length whatever that was."""
    return f"login:{kind}:{sha256(normalize('NFKC', text).casefold().encode()).hexdigest()[:32]}"


def seconds_to_wait(username: str, address: Any, browser: str | None = None) -> int | None:
    """Counts an attempt to sign in; how long to wait where there were too many, else None.

    `browser` is the id of a browser that is known to be this operator's.
    """
    if browser is not None:
        return wait_of(Consume(bucket("browser", browser), PER_BROWSER))
    # One after the other: an attempt that the address has no room for must not count against the name.
    wait = wait_of(Consume(f"login:{bucket_of_address(address)}", PER_ADDRESS))
    return wait if wait is not None else wait_of(Consume(bucket("name", username), PER_NAME))


def seconds_to_wait_inside(user: Any) -> int | None:
    """Counts an attempt at the password or a code of an operator who is signed in; how long to wait, else None."""
    return wait_of(Consume(bucket("operator", str(user.pk)), PER_OPERATOR))


def wait_of(consume: Consume) -> int | None:
    state = limiter.consume(consume)
    return None if state.allowed else state.retry_after or 1


def too_many(seconds: int) -> ValidationError:
    """What a form says that takes no further attempt for so long."""
    return ValidationError(
        f"There were too many attempts. Try again in {in_words(seconds)}.", code="throttled", params={"wait": seconds}
    )


def in_words(seconds: int) -> str:
    """A time to wait, rounded up."""
    minutes = -(-seconds // 60)
    return f"{minutes} minute{'s' if minutes > 1 else ''}"


def answer_too_many(response: Any, form: Any) -> Any:
    """Makes the page of a form that refused an attempt a 429 that says when to come back."""
    for errors in form.errors.as_data().values() if form is not None and form.is_bound else ():
        for error in errors:
            if error.code == "throttled":
                response.status_code = 429
                response["Retry-After"] = str(error.params["wait"])
    return response
