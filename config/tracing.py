"""Traces by OpenTelemetry, if OTEL_EXPORTER_OTLP_ENDPOINT is set and the packages are there (docs/observability.md).

Otherwise nothing of this is imported, and no line of the service asks for it: what is to be seen is wrapped from
outside. `start` comes before the application is made, which binds its methods then.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any
from weakref import WeakKeyDictionary

from django.db import connections
from django.db.backends.signals import connection_created
from django.http import HttpRequest, HttpResponse
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, get_current_span, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from accounts.limits.limiter import RedisCounters
from accounts.limits.limiter_async import AsyncLimiter
from analytics.recording import recorder
from kit.http.bodies import Receive, Scope, Send
from kit.http.middleware import TrustedProxies, request_id
from kit.storage.microbatch import InThread, MicroBatch
from kit.telemetry.logs import without_secrets
from kit.telemetry.observing import ObservationMiddleware, route_of
from licensing.access import decisions
from licensing.access.event_loop.application import CheckApplication
from licensing.access.event_loop.lookup import AsyncLookup

propagator = TraceContextTextMapPropagator()

Make = Callable[[Callable[..., Any]], Callable[..., Any]]


def exporting_provider() -> TracerProvider:
    """Sends spans to the endpoint; the standard OTEL_… variables say how, which and under what name."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - not for tests

    os.environ.setdefault("OTEL_SERVICE_NAME", "content-access-licensing")
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class Tracing:
    """Spans for requests, decisions, what requests wait for together, the record, the database and Redis.

    No span holds a value: no ids, no parameters of a statement, no message of an exception.
    """

    def __init__(self, provider: TracerProvider) -> None:
        self.provider = provider
        self.tracer = provider.get_tracer("content-access-licensing")
        self.proxies = TrustedProxies()
        self.originals: list[tuple[Any, str, Any]] = []
        self.waiting: WeakKeyDictionary[asyncio.Future[Any], Span] = WeakKeyDictionary()

    def start(self) -> None:
        self.wrap(CheckApplication, "__call__", self.request_on_loop)
        self.wrap(ObservationMiddleware, "__call__", self.request_in_django)
        self.wrap(MicroBatch, "submit", self.submission)
        self.wrap(MicroBatch, "serve", self.batch)
        self.wrap(InThread, "__call__", self.in_thread)
        self.wrap(decisions, "decide_check", self.around("decide", describe=describe_decision))
        database = {"db.system.name": "postgresql"}
        self.wrap(recorder.AsyncRecorder, "record", self.around("INSERT decisions", SpanKind.CLIENT, database))
        self.wrap(AsyncLookup, "find_facts", self.around("SELECT facts", SpanKind.CLIENT, database))
        self.wrap(recorder, "run_prepared", self.around("INSERT decisions", SpanKind.CLIENT, database))
        redis = {"db.system.name": "redis"}
        self.wrap(AsyncLimiter, "ask", self.around("EVAL limits", SpanKind.CLIENT, redis))
        self.wrap(RedisCounters, "ask", self.around("EVAL limits", SpanKind.CLIENT, redis))
        connection_created.connect(self.watch)
        for connection in connections.all(initialized_only=True):
            self.watch(None, connection)

    def stop(self) -> None:
        """Sends what is left, and leaves everything as it was."""
        for owner, name, original in reversed(self.originals):
            setattr(owner, name, original)
        self.originals.clear()
        connection_created.disconnect(self.watch)
        for connection in connections.all(initialized_only=True):
            connection.execute_wrappers = [one for one in connection.execute_wrappers if one != self.query]
        self.provider.shutdown()

    def wrap(self, owner: Any, name: str, make: Make) -> None:
        original = getattr(owner, name)
        self.originals.append((owner, name, original))
        setattr(owner, name, wraps(original)(make(original)))

    def around(
        self,
        name: str,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: dict[str, str] | None = None,
        describe: Callable[[Span, Any], None] = lambda span, result: None,
    ) -> Make:
        """A span around a call; `describe` adds what its result tells."""

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            async def on_loop(*args: Any, **kwargs: Any) -> Any:
                with self.span(name, kind=kind, attributes=attributes) as span:
                    result = await original(*args, **kwargs)
                    describe(span, result)
                    return result

            def at_once(*args: Any, **kwargs: Any) -> Any:
                with self.span(name, kind=kind, attributes=attributes) as span:
                    result = original(*args, **kwargs)
                    describe(span, result)
                    return result

            return on_loop if iscoroutinefunction(original) else at_once

        return make

    @contextmanager
    def span(self, name: str, **options: Any) -> Iterator[Span]:
        """The current span while its block runs. An exception's message may hold anything, so its kind must do."""
        with self.tracer.start_as_current_span(
            name, record_exception=False, set_status_on_exception=False, **options
        ) as span:
            try:
                yield span
            except Exception as error:
                span.set_status(Status(StatusCode.ERROR, type(error).__name__))
                raise

    # --- Requests ----------------------------------------------------------------------------------------------------

    def caller(self, peer: str, headers: Callable[[str], str | None]) -> Any:
        """The trace that a request belongs to: a trusted proxy's word, as for every forwarding header."""
        if not self.proxies.include(peer):
            return None
        return propagator.extract({name: value for name in ("traceparent", "tracestate") if (value := headers(name))})

    def request_on_loop(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def traced(application: CheckApplication, scope: Scope, receive: Receive, send: Send) -> None:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            peer = scope["client"][0] if scope.get("client") else ""

            async def send_noting(message: Any) -> None:
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

    def request_in_django(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def traced(middleware: ObservationMiddleware, request: HttpRequest) -> HttpResponse:
            context = self.caller(request.META.get("REMOTE_ADDR", ""), request.headers.get)
            with self.span("request", kind=SpanKind.SERVER, context=context) as span:
                response = original(middleware, request)
                describe_reply(span, str(request.method), route_of(request), response.status_code)
                return response

        return traced

    # --- What requests wait for together -----------------------------------------------------------------------------

    def submission(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def traced(batch: MicroBatch[Any, Any], item: Any) -> "asyncio.Future[Any]":
            future = original(batch, item)
            self.waiting[future] = span = self.tracer.start_span(f"wait for {name_of(batch)}")
            future.add_done_callback(lambda done: span.end())
            return future

        return traced

    def batch(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The task that serves a batch is nobody's: its span goes below the first request's, linked to the others."""

        async def traced(batch: MicroBatch[Any, Any], items: Sequence[tuple[Any, "asyncio.Future[Any]"]]) -> None:
            spans = [span for _, future in items if (span := self.waiting.get(future)) is not None]
            context = set_span_in_context(spans[0]) if spans else None
            links = [Link(span.get_span_context()) for span in spans[1:]]
            with self.span(name_of(batch), context=context, links=links) as span:
                span.set_attribute("licensing.batch_size", len(items))
                await original(batch, items)

        return traced

    def in_thread(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def traced(call: InThread[Any, Any], items: Sequence[Any]) -> Sequence[Any]:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(call.thread, copy_context().run, call.call, items)

        return traced

    # --- The database ------------------------------------------------------------------------------------------------

    def watch(self, sender: Any, connection: Any, **kwargs: Any) -> None:
        if self.query not in connection.execute_wrappers:
            connection.execute_wrappers.append(self.query)

    def query(self, execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        """A statement, with its placeholders; only where something waits for it."""
        if not get_current_span().is_recording():
            return execute(sql, params, many, context)
        attributes = {"db.system.name": context["connection"].vendor, "db.query.text": str(sql)[:2000]}
        with self.span(str(sql).partition(" ")[0][:20], kind=SpanKind.CLIENT, attributes=attributes):
            return execute(sql, params, many, context)


def name_of(batch: MicroBatch[Any, Any]) -> str:
    return str(getattr(batch.call, "name", None) or getattr(batch.call, "__name__", "call"))


def describe_reply(span: Span, method: str, route: str, status: int) -> None:
    span.update_name(f"{method} {route}")
    span.set_attributes({"http.request.method": method, "http.route": route, "http.response.status_code": status})
    span.set_attribute("licensing.request_id", without_secrets(request_id.get()))
    if status >= 500:
        span.set_status(Status(StatusCode.ERROR))


def describe_decision(span: Span, answer: decisions.Answer) -> None:
    span.set_attribute("licensing.allowed", answer.decision.allowed)
    if answer.decision.reason is not None:
        span.set_attribute("licensing.reason", str(answer.decision.reason))
