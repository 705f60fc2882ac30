"""Whether an operator sends the request, checked before its body is read; views check permissions."""

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

from django.conf import settings
from django.contrib.auth import get_user
from django.db import Error, connection
from django.http import HttpRequest, parse_cookie

from kit.http.content_security import drop_quoted
from operators.login.session_end import AdminSessionMiddleware

# One thread, so that clients without a session can only delay each other.
thread = ThreadPoolExecutor(1, "sessions")


async def is_operator(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Look up the session cookie. Without one, no query is needed."""
    sent = "; ".join(value.decode("latin-1") for name, value in headers if name == b"cookie")
    cookies = parse_cookie(drop_quoted(sent))
    key = cookies.get(settings.SESSION_COOKIE_NAME)
    return key is not None and await asyncio.get_running_loop().run_in_executor(thread, is_operators_session, key)


def is_operators_session(key: str) -> bool:
    """Whether the session is a valid operator's; False if the database does not answer."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    try:
        user = get_user(request)
        if not (user.is_active and user.is_staff) or AdminSessionMiddleware.is_too_old(request):
            return False
        return not settings.ADMIN_REQUIRE_TOTP or not AdminSessionMiddleware.must_set_up_factor(request)
    except Error:
        return False
    finally:
        connection.close()
