"""OpenTelemetry traces, if OTEL_EXPORTER_OTLP_ENDPOINT is set and the packages are installed
(docs/reference/observability.md).

Otherwise nothing of this is imported. Traced functions are marked in place (kit.telemetry.tracing) and wrapped by
`start`, which must run before the application is created, because that binds its methods.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from functools import reduce, wraps
from inspect import iscoroutinefunction
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.http import HttpRequest, HttpResponse
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, get_current_span, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from kit.http.bodies import Receive, Scope, Send
from kit.http.headers import TrustedProxies, request_id
from kit.storage.microbatch import MicroBatch, Submission, Work
from kit.telemetry.logs import redact_secrets
from kit.telemetry.observing import ObservationMiddleware, request_route
from kit.telemetry.tracing import MARKS, Mark
from licensing.access.event_loop.application import CheckApplication

propagator = TraceContextTextMapPropagator()

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
Make = Callable[[Callable[..., Any]], Callable[..., object]]  # wraps a function of any signature
OnLoop = Callable[[CheckApplication, Scope, Receive, Send], Awaitable[None]]
InDjango = Callable[[ObservationMiddleware, HttpRequest], HttpResponse]
Submit = Callable[[MicroBatch[ItemT, ResultT], ItemT, Work | None], "asyncio.Future[ResultT]"]
Wait = Callable[[MicroBatch[ItemT, ResultT], ItemT, Work | None], Awaitable[ResultT]]
Serve = Callable[[MicroBatch[ItemT, ResultT], Sequence[Submission[ItemT, ResultT]]], Awaitable[None]]


def exporting_provider() -> TracerProvider:
    """Return a provider that exports spans to the endpoint, configured by the standard OTEL_… variables."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - not for tests

    os.environ.setdefault("OTEL_SERVICE_NAME", "content-access-licensing")
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class Tracing:
    """Spans for requests, decisions, batches, records, the database and Redis.

    Spans contain no values: no ids, no statement parameters, no exception messages.
    """

    def __init__(self, provider: TracerProvider) -> None:
        self.provider = provider
        self.tracer = provider.get_tracer("content-access-licensing")
        self.proxies = TrustedProxies()
        self.originals: list[tuple[object, str, object]] = []
        self.waiting: WeakKeyDictionary[object, Span] = WeakKeyDictionary()  # by the future of their submission

    def start(self) -> None:
        makers: dict[str, Callable[[Mark], Make]] = {
            "step": self.around,
            "request on the loop": lambda mark: self.request_on_loop,
            "request in Django": lambda mark: self.request_in_django,
            "submission": lambda mark: self.submission,
            "wait for result": lambda mark: submitted,
            "batch": lambda mark: self.batch,
        }
        for mark in MARKS:
            self.wrap(mark.function, makers[mark.role](mark))
        connection_created.connect(self.watch)
        for connection in connections.all(initialized_only=True):
            self.watch(None, connection)

    def stop(self) -> None:
        """Export the remaining spans and restore every wrapped function."""
        for owner, name, original in reversed(self.originals):
            setattr(owner, name, original)
        self.originals.clear()
        connection_created.disconnect(self.watch)
        for connection in connections.all(initialized_only=True):
            connection.execute_wrappers = [wrapper for wrapper in connection.execute_wrappers if wrapper != self.query]
        self.provider.shutdown()

    def wrap(self, original: Callable[..., object], make: Make) -> None:
        *path, name = original.__qualname__.split(".")
        owner: object = reduce(getattr, path, sys.modules[original.__module__])
        self.originals.append((owner, name, original))
        setattr(owner, name, wraps(original)(make(original)))

    def around(self, mark: Mark) -> Make:
        """Wrap a function in a span; `describe` adds attributes from its result."""
        name = mark.name
        kind = SpanKind.CLIENT if mark.system else SpanKind.INTERNAL
        attributes = {"db.system.name": mark.system} if mark.system else None

        def describe(span: Span, result: object) -> None:
            if mark.describe is not None:
                span.set_attributes(mark.describe(result))

        def make(original: Callable[..., Any]) -> Callable[..., object]:
            async def on_loop(*args: object, **kwargs: object) -> object:
                with self.span(name, kind=kind, attributes=attributes) as span:
                    result = await original(*args, **kwargs)
                    describe(span, result)
                    return result

            def at_once(*args: object, **kwargs: object) -> object:
                with self.span(name, kind=kind, attributes=attributes) as span:
                    result = original(*args, **kwargs)
                    describe(span, result)
                    return result

            return on_loop if iscoroutinefunction(original) else at_once

        return make

    @contextmanager
    def span(
        self,
        name: str,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Mapping[str, str] | None = None,
        context: Context | None = None,
        links: Sequence[Link] | None = None,
    ) -> Iterator[Span]:
        """Open a span for the block. Records only the type of an exception, because its message can contain values."""
        with self.tracer.start_as_current_span(
            name,
            context,
            kind,
            attributes,
            links,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except Exception as error:
                span.set_status(Status(StatusCode.ERROR, type(error).__name__))
                raise

    # --- Requests ----------------------------------------------------------------------------------------------------

    def caller(self, peer: str, headers: Callable[[str], str | None]) -> Context | None:
        """Return the trace that a request belongs to.

        Only trusted proxies may set it, as with all forwarding headers.
        """
        if not self.proxies.is_trusted_peer(peer):
            return None
        carrier = {name: headers(name) for name in ("traceparent", "tracestate")}
        return propagator.extract({name: value for name, value in carrier.items() if value})

    def request_on_loop(self, original: OnLoop) -> OnLoop:
        async def traced(application: CheckApplication, scope: Scope, receive: Receive, send: Send) -> None:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            peer = scope["client"][0] if scope.get("client") else ""

            async def send_noting(message: MutableMapping[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    describe_reply(span, "POST", scope["path"], message["status"])
                await send(message)

            def respond_noting(status: int, head: bytes, body: bytes) -> bool:
                describe_reply(span, "POST", scope["path"], status)
                return bool(respond(status, head, body))

            if (respond := scope.get("extensions", {}).get("respond")) is not None:  # see config.server
                scope["extensions"]["respond"] = respond_noting
            with self.span("request", kind=SpanKind.SERVER, context=self.caller(peer, headers.get)) as span:
                await original(application, scope, receive, send_noting)

        return traced

    def request_in_django(self, original: InDjango) -> InDjango:
        def traced(middleware: ObservationMiddleware, request: HttpRequest) -> HttpResponse:
            context = self.caller(request.META.get("REMOTE_ADDR", ""), request.headers.get)
            with self.span("request", kind=SpanKind.SERVER, context=context) as span:
                response = original(middleware, request)
                describe_reply(span, str(request.method), request_route(request), response.status_code)
                return response

        return traced

    # --- Batches -----------------------------------------------------------------------------------------------------

    def submission(self, original: Submit[ItemT, ResultT]) -> Submit[ItemT, ResultT]:
        def traced(
            batch: MicroBatch[ItemT, ResultT], item: ItemT, work: Work | None = None
        ) -> "asyncio.Future[ResultT]":
            future = original(batch, item, work)
            self.waiting[future] = span = self.tracer.start_span(f"wait for {batch_name(batch)}")
            future.add_done_callback(lambda done: span.end())
            return future

        return traced

    def batch(self, original: Serve[ItemT, ResultT]) -> Serve[ItemT, ResultT]:
        """Wrap a batch in a span below its first request's, linked to the others."""

        async def traced(batch: MicroBatch[ItemT, ResultT], items: Sequence[Submission[ItemT, ResultT]]) -> None:
            waiting = [self.waiting.get(item.waiter) for item in items]
            spans = [span for span in waiting if span is not None]
            context = set_span_in_context(spans[0]) if spans else None
            links = [Link(span.get_span_context()) for span in spans[1:]]
            with self.span(batch_name(batch), context=context, links=links) as span:
                span.set_attribute("licensing.batch_size", len(items))
                await original(batch, items)

        return traced

    # --- The database ------------------------------------------------------------------------------------------------

    def watch(self, sender: object, connection: BaseDatabaseWrapper, **kwargs: object) -> None:
        if self.query not in connection.execute_wrappers:
            connection.execute_wrappers.append(self.query)

    def query(
        self, execute: Callable[..., object], sql: str, params: object, many: bool, context: dict[str, Any]
    ) -> object:
        """Add a span with the statement and its placeholders, if a recorded span is active."""
        if not get_current_span().is_recording():
            return execute(sql, params, many, context)
        attributes = {"db.system.name": context["connection"].vendor, "db.query.text": str(sql)[:2000]}
        with self.span(str(sql).partition(" ")[0][:20], kind=SpanKind.CLIENT, attributes=attributes):
            return execute(sql, params, many, context)


def submitted(original: Wait[ItemT, ResultT]) -> Wait[ItemT, ResultT]:
    """Always use a future, because waiting spans are found by it."""

    def traced(batch: MicroBatch[ItemT, ResultT], item: ItemT, work: Work | None = None) -> Awaitable[ResultT]:
        return batch.submit(item, work)

    return traced


def batch_name(batch: MicroBatch[ItemT, ResultT]) -> str:
    return str(getattr(batch.call, "name", None) or getattr(batch.call, "__name__", "call"))


def describe_reply(span: Span, method: str, route: str, status: int) -> None:
    span.update_name(f"{method} {route}")
    span.set_attributes({"http.request.method": method, "http.route": route, "http.response.status_code": status})
    span.set_attribute("licensing.request_id", redact_secrets(request_id.get()))
    if status >= 500:
        span.set_status(Status(StatusCode.ERROR))
