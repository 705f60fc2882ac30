"""Known browsers: those in which an operator has signed in before, marked by a signed cookie.

Logins from one have attempts of their own (operators.login.limits), so that nobody else can use them up. The cookie
grants nothing else: password and code are still required. It is bound to one operator and their password, so that a
former password cannot be used to collect attempts.
"""

import secrets

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac

from operators.base.requests import signed_in

COOKIE, SALT = "known_browser", "operators.login.known_browsers"
LIFETIME = 90 * 86_400  # seconds since the last login


def password_digest(user: User) -> str:
    return salted_hmac(SALT, user.password, algorithm="sha256").hexdigest()


def known_browser(request: HttpRequest, username: str) -> str | None:
    """Return the browser's id if the operator with this name has signed in from it; otherwise None."""
    try:
        operator, browser, password = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=LIFETIME)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=operator, username=username).first()
    return browser if user is not None and constant_time_compare(password, password_digest(user)) else None


def remember_browser(request: HttpRequest, response: HttpResponse) -> None:
    """Mark the browser as known for the operator who has just signed in."""
    user = signed_in(request)
    browser = known_browser(request, user.get_username()) or secrets.token_urlsafe(16)
    response.set_cookie(
        COOKIE,
        signing.dumps([user.pk, browser, password_digest(user)], salt=SALT),
        max_age=LIFETIME,
        path=settings.SESSION_COOKIE_PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
