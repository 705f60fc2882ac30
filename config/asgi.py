"""The ASGI application: access checks on the event loop, everything else by Django in threads.

Neither stalls the other: the loop never waits for the database, and a slow report has threads of its own.
"""

import asyncio
import gc
import logging
import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import django
from a2wsgi import WSGIMiddleware
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.db import connection  # noqa: E402 - needs the settings
from django.utils import timezone  # noqa: E402

from analytics.partitions import ensure_partitions  # noqa: E402
from config.wsgi import application as django_application  # noqa: E402
from licensing.asgi import CheckApplication  # noqa: E402 - needs the models

logger = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

wsgi: Any = django_application
django_in_threads = WSGIMiddleware(wsgi, workers=settings.THREADS)
checks = CheckApplication()


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
    elif checks.serves(scope):
        await checks(scope, receive, send)
    else:
        await django_in_threads(scope, receive, send)  # type: ignore[arg-type]


async def keep_partitions() -> None:
    """Makes the coming months' partitions at the start and then each day, in whichever process is first."""
    while True:
        try:
            await asyncio.to_thread(make_partitions)
        except Exception:
            logger.exception("The partitions of the coming months could not be made; trying again in a day")
        await asyncio.sleep(86_400)


def make_partitions() -> None:
    try:
        ensure_partitions(timezone.now())
    finally:
        connection.close()


async def lifespan(receive: Receive, send: Send) -> None:
    upkeep = asyncio.create_task(keep_partitions())
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            # What is loaded now stays: leaving it out of every collection takes the longest pauses away.
            gc.collect()
            gc.freeze()
            gc.set_threshold(50_000, 20, 50)
            await send({"type": "lifespan.startup.complete"})
        else:
            # The server has let the requests under way finish, so nothing waits to be recorded.
            upkeep.cancel()
            await send({"type": "lifespan.shutdown.complete"})
            return
