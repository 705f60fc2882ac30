"""/v1/access/forward and /v1/access/envoy/*: the questions of proxies, answered as checks are, on the event loop.

One decision path with checks: the visitor's request becomes a check of a page (licensing.edge.visitors), which the
gateway decides and records; licensing.edge.answers makes headers of the decision.
"""

from time import perf_counter
from typing import Any
from urllib.parse import parse_qs

from django.utils import timezone

from accounts.authentication import Grant
from kit.http.bodies import Receive, Scope, Send
from kit.http.errors import ApiError, IpNotAllowed, MissingApiKey, NotFound, as_api_error
from kit.http.middleware import Address, request_id, request_id_of
from kit.http.rendering import render_json
from kit.telemetry.observing import log_access
from licensing.access.checks import Answer
from licensing.access.event_loop.application import COMMON_HEADERS, HSTS, CheckApplication, Request, respond
from licensing.access.event_loop.metrics import FORWARDED, count_answers, count_request
from licensing.edge.answers import EdgeAnswer, answer_of, open_page, refused_token
from licensing.edge.original import ENVOY, FORWARD, original_of, peer_of
from licensing.edge.visitors import TokenRefused, identify

KEY_HEADER = b"x-licensing-key"


class ForwardRequest(Request):
    """`address` is the proxy's own: the key is the proxy's, and so is the allowlist that it may have."""

    address: Address | None

    def __init__(self, scope: Scope, proxies: Any) -> None:
        super().__init__(scope, proxies)
        self.address = peer_of(self)
        # Of unknown parameters any may be the visitor's, which Caddy appends.
        is_forward = scope["path"] == FORWARD
        self.denies_by_403 = is_forward and b"403" in parse_qs(self.query).get(b"deny", ())[:1]


class ForwardApplication(CheckApplication):
    """Shares the gateway of the checks, and what it has cached."""

    def serves(self, scope: Scope) -> bool:
        return scope["type"] == "http" and (scope["path"] == FORWARD or scope["path"].startswith(f"{ENVOY}/"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = perf_counter()
        request = ForwardRequest(scope, self.proxies)
        token = request_id.set(request_id_of(request.header(b"x-request-id")))
        try:
            try:
                answer = await self.answer(request, receive)
            except Exception as exc:  # one handler answers every error; what is unforeseen is logged there
                error = as_api_error(exc)
                body = render_json({"error": error.as_dict()})
                answer = EdgeAnswer(error.status_code, dict(error.headers), body)
            if request.denies_by_403:
                answer = answer.by_403()
            state = request.limit_state or await self.limit_of_address(request)
            head = b"%bcache-control: no-store\r\nx-ratelimit-limit: %d\r\nx-ratelimit-remaining: %d\r\n" % (
                *(COMMON_HEADERS, state.limit, state.remaining),
            ) + b"x-ratelimit-reset: %d\r\nx-request-id: %b\r\ncontent-length: %d\r\n" % (
                *(state.reset, request_id.get().encode("ascii"), len(answer.body)),
            )
            if request.is_secure:
                head += HSTS
            for name, value in answer.headers.items():
                head += f"{name.lower()}: {value}\r\n".encode("latin-1")
            await respond(scope, send, answer.status, head, b"" if scope["method"] == "HEAD" else answer.body)
            count_request(FORWARDED, answer.status, seconds := perf_counter() - begun)
            if self.logs_access:
                log_access(scope["method"], FORWARD, answer.status, seconds, request.grant)
        finally:
            request_id.reset(token)

    async def answer(self, request: Request, receive: Receive) -> EdgeAnswer:
        """The order of checks is that of a check; the host is the publisher's own, and no reason to refuse."""
        try:
            request.text = request.header(KEY_HEADER).strip()
            if not request.text:
                raise MissingApiKey("Send the edge's API key in X-Licensing-Key.")
            grant = self.gateway.cached_grant(request.text) or await self.gateway.read_grant(request)
            try:
                return await self.answer_for(grant, request, receive)
            except ApiError as error:
                return await self.answer_for(await self.newer_grant(request, error), request, receive)
        except (MissingApiKey, IpNotAllowed):  # counted by client address
            request.limit_state = await self.gateway.consume(None, request.address)
            raise

    async def answer_for(self, grant: Grant, request: Request, receive: Receive) -> EdgeAnswer:
        now = timezone.now()
        await self.gateway.admit(request, grant, now)
        original = original_of(request, self.proxies)
        if original.is_public:
            await self.confirm(request)
            return open_page(original)
        try:
            visitor = await identify(request, self.gateway, grant.account_id, original, now)
        except TokenRefused:
            return refused_token(original)
        check = visitor.check(original, request.header(b"user-agent"))
        answers = await self.gateway.check(request, [check], now)
        [answer] = answers
        if isinstance(answer, NotFound):  # a host that the account has no site for
            return open_page(original)
        count_answers(answers)
        if not isinstance(answer, Answer):
            raise answer
        return answer_of(answer, original)

    async def confirm(self, request: Request) -> None:
        """What leaves no record that would confirm the key is answered by the key as it is now."""
        if not request.is_confirmed:
            await self.gateway.admit(request, await self.gateway.read_grant(request), timezone.now())
