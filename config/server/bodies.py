"""Request bodies on their way to Django: limited before they are read, in memory if small, on disk for operators.

Under /v1 a body may have 1 MiB, or 64 KiB without a well-formed key, because such a request is refused anyway.
Elsewhere 64 KiB suffice for anonymous clients, including the login. Larger bodies need an operator's session.
"""

import asyncio
import logging
from contextlib import aclosing
from io import BytesIO
from typing import BinaryIO

from django.conf import settings
from django.urls import Resolver404, resolve

from accounts.keys import keytext
from accounts.keys.authentication import bearer_token
from kit.http.bodies import Receive, Scope, body_parts, declared_length, read_body
from kit.http.errors import MissingApiKey, RequestTooLarge, ServiceUnavailable
from kit.http.parsing import MAX_BYTES

if settings.ADMIN:
    from operators.base.uploads import LARGER_FILES, MOST_BYTES, temporary_file
    from operators.signed_in import is_operator

logger = logging.getLogger(__name__)

SMALL = 64 * 1024
FORM = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
MOST_ON_DISK = 8  # concurrent operator uploads per process

on_disk = 0


def limit_of_form(path: str) -> tuple[int, RequestTooLarge]:
    """Return the most bytes of an operator's form at the path, and the error for a larger one."""
    try:
        larger = LARGER_FILES.get(resolve(path).view_name)
    except Resolver404:
        larger = None
    if larger is None:
        return FORM, RequestTooLarge(f"The form is larger than {FORM >> 20} MiB.")
    return MOST_BYTES + SMALL, RequestTooLarge(f"The file is larger than {MOST_BYTES >> 20} MiB. {larger}")


class Body:
    """A complete body: `data`, or a file. If it is too large for /v1, only its length is kept."""

    def __init__(self, length: int, data: bytes = b"", file: BinaryIO | None = None) -> None:
        self.length, self.data, self.file = length, data, file

    @property
    def input(self) -> BinaryIO:
        """Return the body as a file, to be read in a thread."""
        return BytesIO(self.data) if self.file is None else self.file

    def close(self) -> None:
        if self.file is not None:
            release(self)


async def take_body(scope: Scope, receive: Receive) -> Body:
    """Read the body. Raises Disconnected; outside /v1 also InvalidRequest, RequestTooLarge and ServiceUnavailable."""
    whole: bytes | None = scope.get("extensions", {}).get("body")
    if whole is not None:  # it came with the head, which only small bodies do (config.server.whole_request)
        return Body(len(whole), whole)
    if scope["path"].startswith("/v1/"):
        most = MAX_BYTES if has_key(scope) else SMALL
        data = await read_body(scope, receive, most)
        return Body(len(data), data) if len(data) <= most else Body(MAX_BYTES + 1)
    data = b""
    if (declared_length(scope) or 0) <= SMALL:
        data = await read_body(scope, receive, SMALL)
        if len(data) <= SMALL:
            return Body(len(data), data)
    return await keep_on_disk(scope, receive, data)


def has_key(scope: Scope) -> bool:
    """Whether the request has a well-formed key. Without one the reply is 401, whatever the body."""
    header = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
    try:
        return keytext.is_well_formed(bearer_token(header))
    except MissingApiKey:
        return False


async def keep_on_disk(scope: Scope, receive: Receive, begun: bytes) -> Body:
    """Store the body of an operator's form or upload on disk; `begun` is the part already read.

    Raises RequestTooLarge or ServiceUnavailable.
    """
    global on_disk  # noqa: PLW0603 - a count
    path = scope["path"]
    if not (settings.ADMIN and path.startswith("/admin/") and await is_operator(scope["headers"])):
        raise RequestTooLarge("A body may have up to 64 KiB here, and more only from an operator who is signed in.")
    most, too_large = limit_of_form(path)
    if (declared_length(scope) or 0) > most:
        raise too_large
    if on_disk >= MOST_ON_DISK:
        raise ServiceUnavailable("As many uploads as this service takes at a time are under way.", retry_after=5)
    on_disk += 1
    body = None
    try:
        file = await asyncio.to_thread(temporary_file)
        body = Body(0, file=file)
        # set by config.server.protocol: releases the part from its count of memory
        let_go = scope.get("extensions", {}).get("let_go")
        async with aclosing(body_parts(scope, receive, begun)) as parts:
            async for part in parts:
                body.length += len(part)
                if body.length > most:
                    raise too_large
                await asyncio.to_thread(file.write, part)
                if let_go is not None:
                    let_go(len(part))
        await asyncio.to_thread(file.seek, 0)
    except BaseException as error:
        release(body)
        if not isinstance(error, OSError):
            raise
        logger.exception("An upload could not be kept")
        raise ServiceUnavailable("There is no room for the upload.", retry_after=60) from error
    return body


def release(body: Body | None) -> None:
    """Delete the body's file and free its slot."""
    global on_disk  # noqa: PLW0603 - a count
    on_disk -= 1
    if body is not None and body.file is not None:
        body.file.close()
        body.file = None
