"""POST /v1/access/check and /v1/access/check/batch as an ASGI application, from bytes to bytes."""

from collections.abc import Callable
from functools import lru_cache, partial
from time import perf_counter
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.utils import timezone

from accounts.idempotency import HEADER as IDEMPOTENCY_HEADER
from accounts.limits.limiter import LimitState
from accounts.limits.throttling import state_for_stranger
from kit.http.bodies import Disconnected, Headers, Receive, Scope, Send, read_body
from kit.http.errors import ApiError, InvalidRequest, ServiceUnavailable, as_api_error, forget_frames
from kit.http.middleware import Address, TrustedProxies, request_id, request_id_of
from kit.http.parsing import MAX_BYTES, check_length, check_media_type, parse_object
from kit.http.rendering import render_json
from kit.rest.views import check_query, check_utf8
from kit.telemetry.observing import log_access
from licensing.access.bodies import Check, has_draft, parse_batch, parse_check
from licensing.access.decisions import Answer
from licensing.access.event_loop.callers import Callers, Sender
from licensing.access.event_loop.gateway import Gateway
from licensing.access.event_loop.metrics import ALLOWED, BATCH, CHECK, DRY_RUN, ERROR, count_checks, count_request
from licensing.access.rendering import present, present_batch

IDEMPOTENCY_KEY = IDEMPOTENCY_HEADER.lower().encode()
MAX_HOST = 300  # characters: a name of 253, and a port
MAX_QUICK_BYTES = 32 * 1024  # of a body: a hundred checks have 15 kB; the dearest JSON of this size takes 10 ms
# Header lines, as they are sent.
COMMON_HEADERS = (
    "content-type: application/json\r\n"
    "x-content-type-options: nosniff\r\n"
    f"referrer-policy: {settings.SECURE_REFERRER_POLICY}\r\n"
    f"x-frame-options: {settings.X_FRAME_OPTIONS}\r\n"
    "cross-origin-opener-policy: same-origin\r\n"
    "vary: origin\r\n"
).encode()
FOR_OTHER_ORIGINS = (
    f"access-control-allow-origin: *\r\naccess-control-expose-headers: {', '.join(settings.CORS_EXPOSE_HEADERS)}\r\n"
).encode()
HSTS = b"strict-transport-security: max-age=%d\r\n" % settings.SECURE_HSTS_SECONDS


def is_served(host: str) -> bool:
    return len(host) <= MAX_HOST and is_allowed(host)  # what is longer is no name, and would only fill the cache


@lru_cache(maxsize=1000)
def is_allowed(host: str) -> bool:
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


def joined(headers: Headers) -> dict[bytes, bytes]:
    """Of several headers of one name all, as WSGI gives them to Django: both refuse what must not be repeated."""
    values: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        values.setdefault(name, []).append(value)
    return {name: b",".join(several) for name, several in values.items()}


class Head:
    """The head of a request: its headers by lower-case name, its client's address, and whether it came by https.

    `body` is None until it has been read.
    """

    def __init__(self, scope: Scope, proxies: TrustedProxies) -> None:
        self.scope = scope
        self.path: str = scope["path"]
        self.query: bytes = scope["query_string"]
        self.body: bytes | None = scope.get("extensions", {}).get("body")  # if it came with the head (config.server)
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        if len(self.headers) < len(scope["headers"]):  # some are repeated
            self.headers = joined(scope["headers"])
        peer = scope["client"][0] if scope.get("client") else ""
        forwarded_for = self.headers.get(b"x-forwarded-for")
        self.address = proxies.client_of(peer, None if forwarded_for is None else forwarded_for.decode("latin-1"))
        # The first of several, as Django reads it; from anybody but a trusted proxy it says nothing.
        protocol = self.headers.get(b"x-forwarded-proto")
        if protocol is not None and proxies.include(peer):
            self.is_secure = protocol.partition(b",")[0].strip() == b"https"
        else:
            self.is_secure = scope.get("scheme") == "https"

    @property
    def host(self) -> str:
        if b"host" not in self.headers and self.scope.get("server"):  # HTTP/1.0 needs none
            return str(self.scope["server"][0])
        return self.header(b"host")

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")


class Request(Sender):
    """A request for checks: the steps of its admission that take its head and its body."""

    def __init__(self, head: Head, receive: Receive, callers: Callers) -> None:
        super().__init__(callers, head.header(b"authorization"), head.address)
        self.head, self.receive = head, receive

    def check_query(self) -> None:
        if self.head.query:
            query = self.head.query.decode("latin-1")
            check_utf8(query)
            check_query(parse_qs(query, keep_blank_values=True).items(), frozenset())

    async def read_body(self) -> None:
        check_media_type(self.head.header(b"content-type"))
        if self.head.body is None:
            self.head.body = await read_body(self.head.scope, self.receive, MAX_BYTES)
        check_length(len(self.head.body))


async def respond(scope: Scope, send: Send, status: int, head: bytes, body: bytes) -> None:
    """In one write, where the server offers that (config.server); otherwise as any ASGI application."""
    at_once = scope.get("extensions", {}).get("respond")
    if at_once is not None and at_once(status, head, body):
        return
    headers = [tuple(line.split(b": ", 1)) for line in head.splitlines()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class CheckApplication:
    def __init__(self) -> None:
        self.gateway = Gateway()
        self.proxies = TrustedProxies()
        self.logs_access = settings.ACCESS_LOG

    def serves(self, scope: Scope) -> bool:
        """A check without an Idempotency-Key: its reply need not be kept in the transaction that records it."""
        return (
            scope["type"] == "http"
            and scope["path"] in (CHECK, BATCH)
            and scope["method"] == "POST"
            and IDEMPOTENCY_KEY not in dict(scope["headers"])
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = perf_counter()
        head = Head(scope, self.proxies)
        token = request_id.set(request_id_of(head.header(b"x-request-id")))
        try:
            request = Request(head, receive, self.gateway.callers)
            status, body = 200, b""
            headers: dict[str, str] = {}
            try:
                body = render_json(await self.answer(request))
            except Disconnected:
                return
            except Exception as exc:  # one handler answers every error; what is unforeseen is logged there
                error = as_api_error(exc)
                status, headers, body = error.status_code, error.headers, render_json({"error": error.as_dict()})
                forget_frames(exc)
            state = request.limit_state or await self.limit_of_address(head.address)
            lines = b"%bx-ratelimit-limit: %d\r\nx-ratelimit-remaining: %d\r\nx-ratelimit-reset: %d\r\n" % (
                *(COMMON_HEADERS, state.limit, state.remaining, state.reset),
            ) + b"x-request-id: %b\r\ncontent-length: %d\r\n" % (request_id.get().encode("ascii"), len(body))
            if head.is_secure:
                lines += HSTS
            if b"origin" in head.headers:
                lines += FOR_OTHER_ORIGINS
            for name, value in headers.items():
                lines += f"{name.lower()}: {value}\r\n".encode("latin-1")
            await respond(scope, send, status, lines, body)
            count_request(head.path, status, seconds := perf_counter() - begun)
            if self.logs_access:
                log_access("POST", head.path, status, seconds, getattr(request, "grant", None))
        finally:
            request_id.reset(token)

    async def limit_of_address(self, address: Address | None) -> LimitState:
        """For the headers of what was answered before a limit was known."""
        try:
            return await self.gateway.callers.consume(None, address, cost=0)
        except ServiceUnavailable:  # too many are waiting, perhaps with this one
            return state_for_stranger(address)

    async def answer(self, request: Request) -> Any:
        """The body of the reply."""
        if not is_served(request.head.host):
            raise InvalidRequest("This host is not served here. Set ALLOWED_HOSTS.", param="Host")
        return await request.serve(partial(self.decide, request))

    async def decide(self, request: Request) -> Any:
        """The same, once the request is admitted."""
        is_single = request.head.path == CHECK
        parse = parse_one if is_single else parse_batch
        checks = await self.parse(request.grant.account_id, request.head.body or b"", parse)
        answers = await self.gateway.check(request, checks, timezone.now())
        count_checks([outcome_of(answer) for answer in answers])
        if not is_single:
            return present_batch(answers, checks)
        [answer], [check] = answers, checks
        if isinstance(answer, ApiError):
            raise answer
        return present(answer, explain=check.explain)

    async def parse(self, account_id: str, body: bytes, parse: Callable[[dict[str, Any]], list[Check]]) -> list[Check]:
        """The checks of a body: on the event loop if that takes next to nothing, otherwise in a thread."""
        if len(body) <= MAX_QUICK_BYTES:
            fields = parse_object(body)
            if not has_draft(fields):
                return parse(fields)
        return await self.gateway.parse(account_id, lambda: parse(parse_object(body)))


def parse_one(fields: dict[str, Any]) -> list[Check]:
    return [parse_check(fields)]


def outcome_of(answer: Answer | ApiError) -> str:
    """What the metric of checks calls it."""
    if isinstance(answer, ApiError):
        return ERROR
    return DRY_RUN if answer.dry_run else answer.decision.reason or ALLOWED
