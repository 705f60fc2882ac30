"""The ASGI application: access checks and probes on the event loop, everything else by Django in threads.

Neither stalls the other: the loop never waits for the database, and heavy requests have threads of their own. A
request gets a thread when all of it is there: a client that sends slowly holds up nobody.
"""

import asyncio
import gc
import logging
import os
import sys
from threading import Event
from time import perf_counter
from typing import Any

import django
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.db import OperationalError, connection  # noqa: E402 - needs the settings
from django.utils import timezone  # noqa: E402

from accounts.limits.throttling import caller_of, headers_of, known_limit  # noqa: E402
from analytics.events.partitions import ensure_partitions  # noqa: E402
from analytics.rollups.roll_up import INTERVAL, roll_up  # noqa: E402
from config.probes import PROBES, answer_probe  # noqa: E402
from config.server.bodies import take_body  # noqa: E402
from config.server.threads import Threads  # noqa: E402
from config.wsgi import application as django_application  # noqa: E402
from kit.http.bodies import Disconnected, Receive, Scope, Send, send_error, send_page  # noqa: E402
from kit.http.errors import ApiError  # noqa: E402
from kit.rest.heavy import is_heavy  # noqa: E402
from kit.storage import statements  # noqa: E402
from licensing.access.event_loop.application import CheckApplication, Head  # noqa: E402
from licensing.access.event_loop.sampling import sample  # noqa: E402

if settings.ADMIN:
    from operators.base.uploads import purge

logger = logging.getLogger(__name__)

SWITCH_SECONDS = 0.001  # that a busy thread keeps the interpreter from others; by default Python lets it have 5 ms
SECONDS_FOR_THREAD = 30  # of waiting for one, and for a heavy request less: some of those run for minutes
SECONDS_FOR_HEAVY_THREAD = 10
MOST_HEAVY_WAITING = 100  # requests of one caller: who waits does not ask again meanwhile, as who is refused does
HEAVY_REST = 3  # times what a heavy request took: two threads of one account then take half of the interpreter's time

ordinary = Threads(
    django_application,
    "ordinary",
    settings.THREADS,
    share=max(1, settings.THREADS // 2),
    strangers_share=max(1, settings.THREADS // 8),
    patience=SECONDS_FOR_THREAD,
)
heavy = Threads(
    django_application,
    "heavy",
    settings.HEAVY_THREADS,
    share=max(1, settings.HEAVY_THREADS // 2),
    patience=SECONDS_FOR_HEAVY_THREAD,
    most_waiting=MOST_HEAVY_WAITING,
    rest=HEAVY_REST,
)


def start_tracing() -> Any:
    """None if traces are off. To be called before the application is made, see config.tracing."""
    if not settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        return None
    try:
        from config.tracing import Tracing, exporting_provider  # noqa: PLC0415 - packages that are not always there

        tracing = Tracing(exporting_provider())
    except ModuleNotFoundError as error:
        logger.warning("There will be no traces: %s. docs/observability.md says what to install.", error)
        return None
    tracing.start()
    return tracing


tracing = start_tracing()
checks = CheckApplication()


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
    elif checks.serves(scope):
        await checks(scope, receive, send)
    elif scope["path"] in PROBES:
        await answer_probe(scope, send)
    else:
        await serve_with_django(scope, receive, send)


async def serve_with_django(scope: Scope, receive: Receive, send: Send) -> None:
    # WSGI cannot tell X_Forwarded_For from X-Forwarded-For, and only the proxy's own may be believed.
    headers = [(name, value) for name, value in scope["headers"] if b"_" not in name]
    head = Head(scope, checks.proxies)
    who = head.header(b"authorization"), head.address
    try:
        body = await take_body(scope, receive)
    except Disconnected:
        return
    except ApiError as error:
        await refuse(error, head, send, close=error.status_code != 413)
        return
    # A body that is too large is refused by its length, after the key: what was read of it is not needed.
    of_body = (b"content-length", b"transfer-encoding")
    headers = [(name, value) for name, value in headers if name not in of_body]
    if body.length:
        headers.append((b"content-length", b"%d" % body.length))

    gone = Event()
    left = asyncio.create_task(wait_for_end(receive, gone))
    complete = {**scope, "headers": headers, "complete_at": perf_counter()}
    is_long = is_heavy(scope["method"], scope["path"], scope["query_string"], head.header(b"accept"))
    threads = heavy if is_long else ordinary
    token = statements.bound.set(bound_of(scope, gone, is_long=is_long))
    try:
        await threads.serve(complete, body.receive, send, caller_of(*who), body.size_in_memory, left)
    except Disconnected:
        return
    except ApiError as error:
        await refuse(error, head, send)
    finally:
        body.close()
        statements.bound.reset(token)
        left.cancel()


async def refuse(error: ApiError, head: Head, send: Send, *, close: bool = True) -> None:
    """Answers on the event loop a request that Django has not seen."""
    if head.path.startswith("/v1/"):
        state = known_limit(head.header(b"authorization"), head.address)
        headers = {**headers_of(state), **error.headers, "Access-Control-Allow-Origin": "*"}
        await send_error(error, send, headers, head.header(b"x-request-id"), close=close)
    elif b"text/html" in head.headers.get(b"accept", b""):
        await send_page(error, send, close=close)
    else:
        await send_error(error, send, error.headers, head.header(b"x-request-id"), close=close)


def bound_of(scope: Scope, gone: Event, *, is_long: bool) -> statements.Bound:
    """How long a statement of the request may take. What only reads may be dropped when its client has left."""
    api = scope["path"].startswith("/v1/")
    seconds = settings.HEAVY_STATEMENT_SECONDS if is_long or not api else settings.STATEMENT_SECONDS
    reads = scope["method"] in ("GET", "HEAD") or (is_long and api)
    return statements.Bound(seconds, gone if reads else None)


async def wait_for_end(receive: Receive, gone: Event) -> None:
    """Returns when there is nobody to read the reply any more, and tells the thread that makes it."""
    while (await receive())["type"] != "http.disconnect":
        pass
    gone.set()


async def keep_partitions() -> None:
    """Makes the coming months' partitions at the start and then each day, in whichever process is first."""
    while True:
        try:
            await asyncio.to_thread(make_partitions)
        except Exception:
            logger.exception("The partitions of the coming months could not be made; trying again in a day")
        if settings.ADMIN:
            await asyncio.to_thread(remove_old_uploads)
        await asyncio.sleep(86_400)


async def keep_rolling_up() -> None:
    """Roll up what was recorded, in whichever process is first each time."""
    while True:
        await asyncio.sleep(INTERVAL.total_seconds())
        try:
            await asyncio.to_thread(roll_up_pending)
        except OperationalError as error:  # nothing is lost, and reports see what waits
            logger.warning("What was recorded could not be added to the rollups; trying again: %s", error)
        except Exception:
            logger.exception("What was recorded could not be added to the rollups; trying again")


def roll_up_pending() -> None:
    try:
        roll_up(age=INTERVAL)
    finally:
        connection.close()


def make_partitions() -> None:
    try:
        ensure_partitions(timezone.now())
    finally:
        connection.close()


def remove_old_uploads() -> None:
    """What operators brought to the admin and neither imported nor will any more."""
    try:
        purge()
    except OSError:
        logger.exception("Old uploads could not be removed; trying again in a day")


async def lifespan(receive: Receive, send: Send) -> None:
    upkeep = [asyncio.create_task(work) for work in (keep_partitions(), keep_rolling_up(), sample(checks.gateway))]
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            # What is loaded now stays: leaving it out of every collection takes the longest pauses away. The young
            # are collected often enough to be few: at 50,000 the p99 of a check was three times what it is at 5,000.
            gc.collect()
            gc.freeze()
            gc.set_threshold(5_000, 20, 50)
            sys.setswitchinterval(SWITCH_SECONDS)
            await send({"type": "lifespan.startup.complete"})
        else:
            # The server has let the requests under way finish, so nothing waits to be recorded.
            for task in upkeep:
                task.cancel()
            if tracing is not None:
                await asyncio.to_thread(tracing.stop)
            await send({"type": "lifespan.shutdown.complete"})
            return
