"""Traces of requests, and their absence while tracing is off."""

import subprocess
import sys
from collections.abc import Iterator
from unittest.mock import Mock

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings as configured
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from accounts.keys import keytext
from config.tracing import Tracing
from kit.http.headers import TrustedProxies
from licensing.access.event_loop.application import CheckApplication
from tests import factories
from tests.client import ApiClient
from tests.ways import GatewayClient

CHECK = "/v1/access/check"
PARENT = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"


class Spans:
    def __init__(self, exporter: InMemorySpanExporter, tracing: Tracing) -> None:
        self.exporter, self.tracing = exporter, tracing

    @property
    def all(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.all if span.name == name]

    def below(self, name: str) -> list[str]:
        """Return the names of all descendants of the only span with this name."""
        [top] = self.named(name)
        inside, names = {top.context.span_id}, []
        for span in sorted(self.all, key=lambda span: span.start_time or 0):
            if span.parent is not None and span.parent.span_id in inside:
                inside.add(span.context.span_id)
                names.append(span.name)
        return names


@pytest.fixture
def spans(db) -> Iterator[Spans]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing = Tracing(provider)
    tracing.start()
    yield Spans(exporter, tracing)
    tracing.stop()


@pytest.fixture
def traced(spans: Spans, account, application: CheckApplication) -> GatewayClient:
    return GatewayClient(factories.key_text(account), application)


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "once"}])
def test_a_check_shows_its_decision_and_its_record_on_either_way(spans, traced, item, headers):
    body = {"contentId": item.pk, "requester": "org_acme"}
    traced.post(CHECK, body, headers={"X-Request-Id": "mine", **headers})
    [request] = spans.named(f"POST {CHECK}")
    assert request.kind is SpanKind.SERVER
    assert request.attributes["http.response.status_code"] == 200
    assert request.attributes["licensing.request_id"] == "mine"
    inside = spans.below(f"POST {CHECK}")
    assert "decide" in inside
    assert any(name.startswith("INSERT") for name in inside)
    [decision] = spans.named("decide")
    assert (decision.attributes["licensing.allowed"], decision.attributes["licensing.reason"]) == (False, "no_license")


def test_a_reply_in_one_write_is_seen_too(spans, traced, item):
    written = []
    scope = {
        "type": "http",
        "method": "POST",
        "path": CHECK,
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"authorization", traced.headers["Authorization"].encode())],
        "client": ("127.0.0.1", 12345),
        "extensions": {"respond": lambda *reply: not written.append(reply)},  # as config.server offers it
    }

    async def receive():
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async_to_sync(traced.application)(scope, receive, None)
    [request] = spans.named(f"POST {CHECK}")
    assert [reply[0] for reply in written] == [request.attributes["http.response.status_code"]] == [422]


def test_requests_that_share_a_commit_are_linked_to_it(spans, traced, item):
    records = traced.application.gateway.commits.records

    async def two_at_once() -> None:
        futures = [records.submit([]), records.submit([])]
        for future in futures:
            await future

    async_to_sync(two_at_once)()
    [commit] = spans.named("record")
    waits = spans.named("wait for record")
    assert commit.attributes["licensing.batch_size"] == 2
    assert {commit.parent.span_id, commit.links[0].context.span_id} == {wait.context.span_id for wait in waits}


def test_another_endpoint_shows_its_statements(spans, account, item):
    ApiClient(factories.key_text(account)).get(f"/v1/content/{item.pk}")
    assert "SELECT" in spans.below("GET /v1/content/{id}")
    assert all(item.pk not in str(span.attributes) for span in spans.all)


def test_a_failure_is_an_error_without_its_message(spans, account, monkeypatch):
    monkeypatch.setattr("licensing.content.services.save_content", Mock(side_effect=RuntimeError("secret words")))
    ApiClient(factories.key_text(account)).post("/v1/content", {"title": "x"})
    [request] = spans.named("POST /v1/content")
    assert request.status.status_code is StatusCode.ERROR
    assert "secret words" not in " ".join(span.to_json() for span in spans.all)


def test_no_span_holds_a_key(spans, traced, item):
    text = traced.headers["Authorization"].removeprefix("Bearer ")
    secret = text[keytext.PREFIX_CHARACTERS :]
    for headers in ({"X-Request-Id": text}, {"X-Request-Id": text, "Idempotency-Key": text}):
        traced.post(CHECK, {"externalId": text, "requester": text}, headers=headers)
        traced.post("/v1/content", {"title": text}, headers=headers)
    traced.get(f"/v1/content/{text}?title={text}")
    assert len(spans.all) > 10
    assert secret not in " ".join(span.to_json() for span in spans.all)


@pytest.mark.parametrize("path", [CHECK, "/v1/policies"])
def test_only_a_trusted_proxy_says_which_trace_a_request_belongs_to(spans, traced, settings, path):
    traced.post(path, {}, headers={"traceparent": PARENT})
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    spans.tracing.proxies = TrustedProxies()
    traced.post(path, {}, headers={"traceparent": PARENT})
    believed = [span.parent is not None and f"{span.parent.trace_id:032x}" for span in spans.named(f"POST {path}")]
    assert believed == [False, PARENT.split("-")[1]]


def test_everything_is_as_before_when_it_stops():
    tracing = Tracing(TracerProvider())
    tracing.start()
    wrapped = [(owner, name, original, getattr(owner, name)) for owner, name, original in tracing.originals]
    tracing.stop()
    for owner, name, original, traced in wrapped:
        assert traced is not original
        assert getattr(owner, name) is original


def test_nothing_is_loaded_while_it_is_off():
    # redis-py looks for parts of OpenTelemetry itself.
    program = "import sys, config.asgi; print({'config.tracing', 'opentelemetry.sdk.trace'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=configured.BASE_DIR, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
