"""Rate limits on passwords and codes, counted like plan limits, across all processes.

Every attempt counts, including successful ones, because a count before the password check cannot be raced. Guessing
must not lock the operator out, so there are several counts:

- by address, over all names. An address over its limit uses up no name's attempts.
- by name, for unknown browsers. Attackers with many addresses can use these up.
- by known browser: an operator's own browser has attempts that nobody else can use up.
- by operator, for forms behind the login that ask for the old password or a code.

All windows last a quarter of an hour.
"""

from hashlib import sha256
from typing import TypeVar
from unicodedata import normalize

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.forms import BaseForm
from django.http import HttpResponse

from accounts.limits.limiter import limiter
from accounts.limits.windows import Hit, Window, address_bucket
from kit.values.networks import Address
from kit.values.numbers import count_text

ResponseT = TypeVar("ResponseT", bound=HttpResponse)
QUARTER_HOUR = 15 * 60
PER_NAME = PER_BROWSER = PER_OPERATOR = (Window(10, QUARTER_HOUR),)
PER_ADDRESS = (Window(50, QUARTER_HOUR),)  # people may share an address


def bucket(kind: str, text: str) -> str:
    """Return a bucket of bounded length for a text of any length."""
    return f"login:{kind}:{sha256(normalize('NFKC', text).casefold().encode()).hexdigest()[:32]}"


def seconds_to_wait(username: str, address: Address | None, browser: str | None = None) -> int | None:
    """Count a login attempt. Returns the seconds to wait if there were too many, otherwise None.

    `browser` is the id of this operator's known browser, if it is one.
    """
    if browser is not None:
        return retry_after(Hit(bucket("browser", browser), PER_BROWSER))
    # In this order, so that an address over its limit does not use up the name's attempts.
    wait = retry_after(Hit(f"login:{address_bucket(address)}", PER_ADDRESS))
    if wait is not None:
        return wait
    return retry_after(Hit(bucket("name", username), PER_NAME))


def seconds_to_wait_inside(user: User) -> int | None:
    """Count an attempt of a signed-in operator at a password or code. Returns the seconds to wait, or None."""
    return retry_after(Hit(bucket("operator", str(user.pk)), PER_OPERATOR))


def retry_after(hit: Hit) -> int | None:
    state = limiter.consume(hit)
    if state.allowed:
        return None
    return state.retry_after or 1


def too_many(seconds: int) -> ValidationError:
    """Return the form error for a rate limit that ends in this many seconds."""
    return ValidationError(
        f"There were too many attempts. Try again in {in_words(seconds)}.", code="throttled", params={"wait": seconds}
    )


def in_words(seconds: int) -> str:
    """Describe a time to wait in minutes, rounded up."""
    return count_text(-(-seconds // 60), "minute")


def answer_too_many(response: ResponseT, form: BaseForm | None) -> ResponseT:
    """Change the response to 429 with Retry-After if the form was rate-limited."""
    if form is None or not form.is_bound:
        return response
    for errors in form.errors.as_data().values():
        for error in errors:
            if error.code == "throttled":
                response.status_code = 429
                response["Retry-After"] = str((error.params or {})["wait"])
    return response
