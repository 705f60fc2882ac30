"""Limits on attempts at passwords and codes, counted as plan limits are, over all processes.

Every attempt counts, also one that succeeds: a count before the password is checked cannot be raced. Guessing must not
lock the operator out, so there are several counts:

- by address, of all names together. An address that has used up its attempts takes none from any name.
- by name, of unknown browsers. From many addresses these can be used up by anybody.
- by known browser: one from which the operator has signed in before has attempts of its own, whatever others try.
- by operator, of the forms behind the login that ask for the old password or for a code.

Each count is over within a quarter of an hour.
"""

from hashlib import sha256
from typing import TypeVar
from unicodedata import normalize

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.forms import BaseForm
from django.http import HttpResponse

from accounts.limits.limiter import limiter
from accounts.limits.throttling import bucket_of_address
from accounts.limits.windows import Consume, Window
from kit.http.middleware import Address

ResponseT = TypeVar("ResponseT", bound=HttpResponse)
QUARTER = 15 * 60
PER_NAME = PER_BROWSER = PER_OPERATOR = (Window(10, QUARTER),)
PER_ADDRESS = (Window(50, QUARTER),)  # several people may share one


def bucket(kind: str, text: str) -> str:
    """The bucket of a text of any length, itself of bounded length."""
    return f"login:{kind}:{sha256(normalize('NFKC', text).casefold().encode()).hexdigest()[:32]}"


def seconds_to_wait(username: str, address: Address | None, browser: str | None = None) -> int | None:
    """Counts an attempt to sign in. Seconds to wait where there were too many, else None.

    `browser` is the id of a browser that is known to be this operator's.
    """
    if browser is not None:
        return wait_of(Consume(bucket("browser", browser), PER_BROWSER))
    # One after the other: an attempt that the address has no room for must not count against the name.
    wait = wait_of(Consume(f"login:{bucket_of_address(address)}", PER_ADDRESS))
    return wait if wait is not None else wait_of(Consume(bucket("name", username), PER_NAME))


def seconds_to_wait_inside(user: User) -> int | None:
    """Counts an attempt at the password or a code of an operator who is signed in. Seconds to wait, else None."""
    return wait_of(Consume(bucket("operator", str(user.pk)), PER_OPERATOR))


def wait_of(consume: Consume) -> int | None:
    state = limiter.consume(consume)
    return None if state.allowed else state.retry_after or 1


def too_many(seconds: int) -> ValidationError:
    """The error of a form that takes no further attempt for so long."""
    return ValidationError(
        f"There were too many attempts. Try again in {in_words(seconds)}.", code="throttled", params={"wait": seconds}
    )


def in_words(seconds: int) -> str:
    """A time to wait, rounded up."""
    minutes = -(-seconds // 60)
    return f"{minutes} minute{'s' if minutes > 1 else ''}"


def answer_too_many(response: ResponseT, form: BaseForm | None) -> ResponseT:
    """The response, as a 429 with Retry-After where the form refused an attempt."""
    for errors in form.errors.as_data().values() if form is not None and form.is_bound else ():
        for error in errors:
            if error.code == "throttled":
                response.status_code = 429
                response["Retry-After"] = str((error.params or {})["wait"])
    return response
