"""/v1/access/forward and /v1/access/envoy/*: the questions of proxies, answered as checks are, on the event loop.

One decision path with checks: the visitor's request becomes a check of a page (licensing.edge.visitors), which the
gateway decides and records; licensing.edge.answers makes headers of the decision.
"""

from functools import partial
from time import perf_counter
from urllib.parse import parse_qs

from django.utils import timezone

from kit.http.admission import admit
from kit.http.bodies import Receive, Scope, Send
from kit.http.errors import MissingApiKey, NotFound, as_api_error, forget_frames
from kit.http.middleware import request_id, request_id_of
from kit.http.rendering import render_json
from kit.telemetry.observing import log_access
from licensing.access.decisions import Answer
from licensing.access.event_loop.application import (
    COMMON_HEADERS,
    HSTS,
    CheckApplication,
    Head,
    outcomes_of,
    respond,
)
from licensing.access.event_loop.callers import Callers, Sender
from licensing.access.event_loop.metrics import FORWARDED, count_checks, count_request
from licensing.edge.answers import EdgeAnswer, answer_of, open_page, refused_token
from licensing.edge.original import ENVOY, FORWARD, original_of, peer_of
from licensing.edge.visitors import TokenRefused, identify

KEY_HEADER = b"x-licensing-key"


class Edge(Sender):
    """A proxy: the key is its own, and so is the allowlist that the key may have."""

    def __init__(self, head: Head, callers: Callers) -> None:
        key = head.header(KEY_HEADER).strip()
        super().__init__(callers, f"Bearer {key}" if key else "", peer_of(head))

    async def authenticate(self) -> None:
        if not self.authorization:
            raise MissingApiKey("Send the edge's API key in X-Licensing-Key.")
        await super().authenticate()


class ForwardApplication(CheckApplication):
    """Shares the gateway of the checks, and what it has cached."""

    def serves(self, scope: Scope) -> bool:
        return scope["type"] == "http" and (scope["path"] == FORWARD or scope["path"].startswith(f"{ENVOY}/"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = perf_counter()
        head = Head(scope, self.proxies)
        edge = Edge(head, self.gateway.callers)
        token = request_id.set(request_id_of(head.header(b"x-request-id")))
        try:
            try:
                answer = await edge.serve(partial(self.ask, head, edge))
            except Exception as exc:  # one handler answers every error; what is unforeseen is logged there
                error = as_api_error(exc)
                answer = EdgeAnswer(error.status_code, error.headers, render_json({"error": error.as_dict()}))
                forget_frames(exc)
            if denies_by_403(head):
                answer = answer.by_403()
            state = edge.limit_state or await self.limit_of_address(edge.address)
            lines = b"%bx-ratelimit-limit: %d\r\nx-ratelimit-remaining: %d\r\nx-ratelimit-reset: %d\r\n" % (
                *(COMMON_HEADERS, state.limit, state.remaining, state.reset),
            ) + b"x-request-id: %b\r\ncontent-length: %d\r\n" % (request_id.get().encode("ascii"), len(answer.body))
            if head.is_secure:
                lines += HSTS
            for name, value in answer.headers.items():
                lines += f"{name.lower()}: {value}\r\n".encode("latin-1")
            await respond(scope, send, answer.status, lines, b"" if scope["method"] == "HEAD" else answer.body)
            count_request(FORWARDED, answer.status, seconds := perf_counter() - begun)
            if self.logs_access:
                log_access(scope["method"], FORWARD, answer.status, seconds, getattr(edge, "grant", None))
        finally:
            request_id.reset(token)

    async def ask(self, head: Head, edge: Edge) -> EdgeAnswer:
        """The answer to an edge that is admitted. The host is the publisher's own, and no reason to refuse."""
        now = timezone.now()
        original = original_of(head, self.proxies)
        if original.is_public:
            if not edge.is_confirmed:  # no record will do it
                await edge.confirm()
                await admit(edge)
            return open_page(original)
        try:
            visitor = await identify(head, self.gateway.callers, edge.grant.account_id, original, now)
        except TokenRefused:
            return refused_token(original)
        check = visitor.check(original, head.header(b"user-agent"))
        [answer] = await self.gateway.check(edge, [check], now)
        if isinstance(answer, NotFound):  # a host that the account has no site for
            return open_page(original)
        count_checks(outcomes_of([answer]))
        if not isinstance(answer, Answer):
            raise answer
        return answer_of(answer, original)


def denies_by_403(head: Head) -> bool:
    """Whether `deny=403` was asked for, as nginx needs it. To Envoy's path a visitor's own query is appended."""
    return bool(head.query) and head.path == FORWARD and parse_qs(head.query).get(b"deny", [])[:1] == [b"403"]
