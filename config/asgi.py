"""The ASGI application: access checks and probes on the event loop, everything else in Django threads.

Neither delays the other: the loop never waits for the database, and heavy requests have threads of their own. A
request gets a thread only once it has arrived completely, so a slow client blocks no one.
"""

import asyncio
import gc
import logging
import os
import sys
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import django
from django.conf import settings
from django.db.models import Model
from django.http import QueryDict
from django.urls import Resolver404, resolve

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from accounts.limits.limiter import known_limit, thread_pool_owner  # noqa: E402 - needs the settings
from accounts.limits.windows import build_headers  # noqa: E402
from accounts.plans import epochs  # noqa: E402
from config.background import Background  # noqa: E402
from config.monitoring.probes import PROBES, answer_probe  # noqa: E402
from config.server.bridge import BrokenReply, take_body  # noqa: E402
from config.server.thread_pools import (  # noqa: E402
    HEAVY_REST,
    MAX_HEAVY_WAITING,
    SECONDS_FOR_HEAVY_THREAD,
    SECONDS_FOR_THREAD,
    Threads,
    identity,
)
from config.wsgi import application as django_application  # noqa: E402
from kit import statement_timeout  # noqa: E402
from kit.http.bodies import Disconnected, Receive, Scope, Send, send_error, send_page  # noqa: E402
from kit.http.error_pages import is_for_browser  # noqa: E402
from kit.http.error_replies import as_api_error  # noqa: E402
from kit.http.errors import ApiError, InvalidRequest  # noqa: E402
from kit.http.headers import LIMITS, check_lengths, request_id, valid_request_id  # noqa: E402
from kit.rest.export import wanted_format  # noqa: E402
from licensing.access.event_loop.application import CheckApplication  # noqa: E402
from licensing.access.event_loop.head import Head  # noqa: E402
from licensing.access.event_loop.metrics import BATCH, CHECK, sample  # noqa: E402
from licensing.edge.application import ForwardApplication  # noqa: E402

if TYPE_CHECKING:
    from config.tracing import Tracing
    from kit.rest.views import ApiViewSet

logger = logging.getLogger(__name__)

SWITCH_SECONDS = 0.001  # the longest a busy thread keeps the interpreter from others; Python's default is 5 ms
SECONDS_FOR_SCRAPE = 5

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
    most_waiting=MAX_HEAVY_WAITING,
    rest=HEAVY_REST,
)
# Scrapes have threads of their own, because requests that wait for a database can occupy all others.
scrapes = Threads(django_application, "metrics", 2, share=1, patience=SECONDS_FOR_SCRAPE)


def start_tracing() -> "Tracing | None":
    """Start tracing; returns None if it is off. Call before the application is created, see config.tracing."""
    if not settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        return None
    try:
        from config.tracing import Tracing, exporting_provider  # noqa: PLC0415 - packages that are not always there

        tracing = Tracing(exporting_provider())
    except ModuleNotFoundError as error:
        logger.warning("There will be no traces: %s. docs/reference/observability.md says what to install.", error)
        return None
    tracing.start()
    return tracing


tracing = start_tracing()
checks = CheckApplication()
epochs.listeners.append(checks.gateway.snapshot.hear)
forwards = ForwardApplication(checks.gateway)


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
    elif scope["path"] in (CHECK, BATCH) and scope["method"] == "POST":
        await checks(scope, receive, send)
    elif scope["path"].startswith("/v1/access/") and forwards.serves(scope):
        await forwards(scope, receive, send)
    elif scope["path"] in PROBES:
        await answer_probe(scope, send)
    else:
        await serve_with_django(scope, receive, send)


def view_at(path: str) -> Any:
    """Return the view of a path, or None."""
    try:
        return resolve(path).func
    except Resolver404:
        return None


def action_of(view: Any, method: str) -> str | None:
    """Return the action of an API endpoint for this method, or None for other views and methods."""
    action: str | None = getattr(view, "actions", {}).get("get" if method == "HEAD" else method.lower())
    return action


def is_heavy(view: Any, method: str, query: bytes, accept: str) -> bool:
    """Whether a request to a view is heavy, judged by its action, query and `Accept`.

    A viewset names its heavy actions in `heavy`. Exports of a list, and lists with `count=exact`, are always heavy.
    """
    endpoint: type[ApiViewSet[Model]] | None = getattr(view, "cls", None)
    if endpoint is None:
        return getattr(view, "heavy", False)
    action = action_of(view, method)
    if action in endpoint.heavy or (action in endpoint.listing and b"count=exact" in query):
        return True
    if action not in endpoint.exportable:
        return False
    try:
        return wanted_format(QueryDict(query), accept) != "json"
    except InvalidRequest:
        return False


async def serve_with_django(scope: Scope, receive: Receive, send: Send) -> None:
    head = Head(scope, checks.proxies)
    who = head.header(b"authorization"), head.address
    try:
        if head.too_long or head.query:
            check_lengths(head.too_long, head.query)
        body = await take_body(scope, receive)
    except Disconnected:
        return
    except ApiError as error:
        # Closing would reset the reply of a client that is still sending, so only late bodies close the connection.
        await refuse(error, head, send, close=isinstance(error, InvalidRequest))
        return
    # A body that is too large is rejected by its length, after the key was checked; its content is not needed.
    body_headers = (b"content-length", b"transfer-encoding")
    headers = [line for line in head.headers.items() if line[0] in LIMITS and line[0] not in body_headers]
    if body.length:
        headers.append((b"content-length", b"%d" % body.length))

    complete = {**scope, "headers": headers, "complete_at": perf_counter()}
    view = view_at(scope["path"])
    is_long = is_heavy(view, scope["method"], scope["query_string"], head.header(b"accept"))
    asks_for_key = action_of(view, scope["method"]) is not None and view.cls.authentication_classes
    callers = checks.gateway.callers
    prepare = partial(callers.admit_for_django, head) if asks_for_key and checks.gateway.calls.on_loop else identity
    threads = heavy if is_long else ordinary
    if scope["path"] == "/metrics":
        threads = scrapes
    is_api = scope["path"].startswith("/v1/")
    method = scope["method"]
    seconds = settings.HEAVY_STATEMENT_SECONDS if is_long or not is_api else settings.STATEMENT_SECONDS
    reads = method in ("GET", "HEAD") or (is_long and is_api)  # reads may be given up once their client has left
    is_awaited = scope.get("extensions", {}).get("is_awaited") if reads else None
    token = statement_timeout.bound.set(statement_timeout.Bound(seconds, is_awaited))
    try:
        await threads.serve(complete, body.file, receive, send, thread_pool_owner(*who), body.in_memory, prepare)
    except Disconnected:
        return
    except BrokenReply as broken:
        request_id.set(broken.request_id)  # for the server's log entry
        raise
    except Exception as error:  # uvicorn would answer in plain text
        error_request_id = valid_request_id(head.header(b"x-request-id"))
        head.headers[b"x-request-id"] = error_request_id.encode()
        id_token = request_id.set(error_request_id)  # for the log entry, which the reply refers to
        try:
            await refuse(as_api_error(error), head, send)
        finally:
            request_id.reset(id_token)
    finally:
        body.close()
        statement_timeout.bound.reset(token)


async def refuse(error: ApiError, head: Head, send: Send, *, close: bool = True) -> None:
    """Answer a request on the event loop without Django."""
    sent_id = head.header(b"x-request-id")
    accept = head.header(b"accept")
    if head.path.startswith("/v1/"):
        state = known_limit(head.header(b"authorization"), head.address)
        headers = {**build_headers(state), **error.headers, "Access-Control-Allow-Origin": "*"}
        await send_error(error, send, headers, sent_id, accept, close=close)
    elif is_for_browser(head.path, accept):
        await send_page(error, send, close=close)
    else:
        await send_error(error, send, error.headers, sent_id, accept, close=close)


async def lifespan(receive: Receive, send: Send) -> None:
    background = Background()
    background.start()
    sampling = asyncio.create_task(sample(checks.gateway.note_state))
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            # Excluding everything loaded so far from garbage collection avoids the longest pauses. Collecting young
            # objects often keeps them few: at 50,000 the p99 of a check was three times that at 5,000.
            gc.collect()
            gc.freeze()
            gc.set_threshold(5_000, 20, 50)
            sys.setswitchinterval(SWITCH_SECONDS)
            await send({"type": "lifespan.startup.complete"})
        else:
            # The server has finished all running requests, so nothing waits to be recorded.
            sampling.cancel()
            await background.stop()
            if tracing is not None:
                await asyncio.to_thread(tracing.stop)
            await send({"type": "lifespan.shutdown.complete"})
            return
