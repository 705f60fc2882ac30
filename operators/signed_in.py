"""Whether an operator asks, before a body is read for them; what they may do is for the views to say."""

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

from django.conf import settings
from django.contrib.auth import get_user
from django.db import Error, connection
from django.http import HttpRequest, parse_cookie

from kit.http.cookies import drop_quoted
from operators.middleware import SessionMiddleware

# One thread: who has no session may wait for those before, and take nothing else from anybody.
thread = ThreadPoolExecutor(1, "sessions")


async def is_operator(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """By the cookies of a request. Without a session's there is nothing to look up."""
    sent = "; ".join(value.decode("latin-1") for name, value in headers if name == b"cookie")
    cookies = parse_cookie(drop_quoted(sent))
    key = cookies.get(settings.SESSION_COOKIE_NAME)
    return key is not None and await asyncio.get_running_loop().run_in_executor(thread, is_operators_session, key)


def is_operators_session(key: str) -> bool:
    """Also False while the database does not answer: then nobody can be let in."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    try:
        user = get_user(request)
        if not (user.is_active and user.is_staff) or SessionMiddleware.is_too_old(request):
            return False
        return not settings.ADMIN_REQUIRE_TOTP or not SessionMiddleware.lacks_second_factor(request)
    except Error:
        return False
    finally:
        connection.close()
