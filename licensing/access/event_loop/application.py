"""ASGI application for POST /v1/access/check and /v1/access/check/batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from urllib.parse import parse_qs

from django.conf import settings
from django.utils import timezone

from accounts.keys.authentication import key_header, license_token
from accounts.retries.idempotency import HEADER as IDEMPOTENCY_HEADER
from accounts.retries.idempotency import check_key, encrypt_reply, fingerprint
from analytics.recording.entries import KeyClaim, Reply
from kit.hot_settings import hot_setting
from kit.http.bodies import Disconnected, Receive, Scope, Send, read_body
from kit.http.error_pages import unknown_host
from kit.http.error_replies import as_api_error, forget_frames, render_error
from kit.http.errors import ApiError
from kit.http.headers import TrustedProxies, check_lengths, request_id, valid_request_id
from kit.http.parsing import MAX_BYTES, check_length, check_media_type, parse_object, parse_plain
from kit.http.queries import check_query, check_utf8
from kit.http.rendering import JSON, render_json
from kit.storage.light_tasks import moment
from kit.telemetry.observing import log_access
from kit.telemetry.tracing import traced
from kit.values.json_values import JsonObject
from kit.values.timestamps import render_timestamp
from licensing.access.bodies import has_draft, parse_batch, parse_check, require_policy_access
from licensing.access.charging.paying import fill_remaining, foresee_answers
from licensing.access.check_values import Check
from licensing.access.checks import check_once
from licensing.access.deciding import Answer
from licensing.access.decisions import Decisions
from licensing.access.event_loop.callers import Callers, Sender
from licensing.access.event_loop.gateway import Gateway
from licensing.access.event_loop.head import OTHER_ORIGIN_HEADERS, Head, header_lines, is_served, list_deprecations
from licensing.access.event_loop.metrics import CHECK, count_checks, count_request
from licensing.access.event_loop.retries import KeyedReply, Unsure
from licensing.access.rendering import Sign, render_reply
from licensing.access.tokens.license_tokens import attach_license
from licensing.access.tokens.signing import decidable, with_unsigned

IDEMPOTENCY_KEY = IDEMPOTENCY_HEADER.lower().encode()
KEY_HEADER = b"x-licensing-key"
JSON_TYPE = JSON.encode()
MAX_QUICK_BYTES = 32 * 1024  # of a body: 100 checks take 15 kB; the slowest JSON of this size parses in 10 ms
MAX_BYTES_AHEAD = 1024  # of a body that is parsed before rate limiting


class Request(Sender):
    """A request for checks: the admission steps that read its head and body."""

    def __init__(self, head: Head, receive: Receive, callers: Callers) -> None:
        authorization = head.header(b"authorization")
        self.license_token = license_token(authorization)
        if self.license_token is not None:
            authorization = key_header(authorization, head.header(KEY_HEADER))
        super().__init__(callers, authorization, head.address)
        self.head, self.receive = head, receive
        self.plain: JsonObject | None = None  # the parsed body if it is plain (kit.http.parsing)
        self.checks: list[Check] | None = None  # the parsed checks
        self.digest: bytes | None = None  # the fingerprint, if it was made early

    def prepare(self) -> None:
        """Parse a small, complete single-check body early."""
        body = self.head.body or b""
        if self.head.path != CHECK or self.license_token is not None or not 0 < len(body) <= MAX_BYTES_AHEAD:
            return
        is_keyed = IDEMPOTENCY_KEY in self.head.headers
        self.plain = parse_plain(body) if is_keyed else None
        fields = self.plain if is_keyed else parse_object(body)
        if fields is not None and not has_draft(fields) and fields.get("explain") is not True:
            self.checks = [parse_check(fields)]
            if is_keyed:
                self.digest = request_fingerprint(self, body)

    def check_query(self) -> None:
        if self.head.query:
            query = self.head.query.decode("latin-1")
            check_utf8(query)
            check_query(parse_qs(query, keep_blank_values=True).items(), frozenset())

    async def read_body(self) -> None:
        key = self.head.headers.get(IDEMPOTENCY_KEY)
        self.idempotency_key = None if key is None else check_key(key.decode("latin-1"))
        if self.head.headers.get(b"content-type") != JSON_TYPE:
            check_media_type(self.head.header(b"content-type"))
        if self.head.body is None:
            self.head.body = await read_body(self.head.scope, self.receive, MAX_BYTES)
        check_length(len(self.head.body))


async def respond(scope: Scope, send: Send, status: int, head: bytes, body: bytes) -> None:
    """Send the reply, in one write if the server supports it (config.server), else by ASGI messages."""
    at_once = scope.get("extensions", {}).get("respond")
    if at_once is not None and at_once(status, head, body):
        return
    headers = [tuple(line.split(b": ", 1)) for line in head.splitlines()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@dataclass(slots=True)
class EarlyReply:
    """The reply to a single check, rendered while its record is under way."""

    checks: Sequence[Check]
    sign: Sign | None
    made: Decisions | None = None  # what was rendered
    body: bytes = b""

    def render(self, made: Decisions) -> None:
        """Render the decision, unless its record may change more of it than the credit that remains."""
        if not made.claims:
            self.body = render_reply(foresee_answers(made), self.checks, self.sign, is_batch=False)
            self.made = made

    def body_for(self, answers: Sequence[Answer | ApiError]) -> bytes | None:
        """Return the reply with this answer; None if another decision was rendered."""
        if self.made is None:
            return None
        [answer], [rendered] = answers, self.made.answers
        if answer is rendered:
            return self.body
        # A wallet paid: the same decision, with the credit that remains.
        is_same = isinstance(answer, Answer) and isinstance(rendered, Answer) and answer.id == rendered.id
        return fill_remaining(self.body, answer) if is_same else None


class CheckApplication:
    def __init__(self, gateway: Gateway | None = None) -> None:
        self.gateway = gateway or Gateway()
        self.proxies = TrustedProxies()
        self.logs_access = settings.ACCESS_LOG

    @traced(role="request on the loop")
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = perf_counter()
        head = Head(scope, self.proxies)
        token = request_id.set(valid_request_id(head.header(b"x-request-id")))
        try:
            request = Request(head, receive, self.gateway.callers)
            status = 200
            body = b""
            headers: dict[str, str] = {}
            media_type = JSON
            try:
                if head.too_long or head.query:
                    check_lengths(head.too_long, head.query)
                if not is_served(head.host):
                    raise unknown_host(head.host)
                decide = self.decide_keyed if IDEMPOTENCY_KEY in head.headers else self.decide
                body, headers = await request.serve(partial(decide, request))
            except Disconnected:
                return
            except Exception as exc:  # as_api_error logs unexpected errors
                error = as_api_error(exc)
                status = error.status_code
                headers = error.headers
                reply, media_type = render_error(error, head.header(b"accept"))
                body = render_json(reply)
                forget_frames(exc)
            if hot_setting("DEPRECATIONS"):
                grant = getattr(request, "grant", None)
                headers = {**headers, **list_deprecations(head.path, head.query, head.body or b"", grant)}
            state = request.limit_state or await self.gateway.callers.limit_of_address(head.address)
            lines = header_lines(state, headers, len(body), is_secure=head.is_secure)
            if media_type != JSON:
                lines = lines.replace(JSON_TYPE, media_type.encode(), 1)
            if b"origin" in head.headers:
                lines += OTHER_ORIGIN_HEADERS
            await respond(scope, send, status, lines, body)
            count_request(head.path, status, seconds := perf_counter() - begun)
            if self.logs_access:
                log_access("POST", head.path, status, seconds, getattr(request, "grant", None))
        finally:
            request_id.reset(token)

    async def decide_keyed(self, request: Request) -> tuple[bytes, dict[str, str]]:
        """Do what `decide` does for a request with an Idempotency-Key."""
        key = request.idempotency_key
        if key is None:
            return await self.decide(request)
        body = request.head.body or b""
        digest = request.digest
        if digest is None and len(body) <= MAX_QUICK_BYTES:
            request.plain = request.plain or parse_plain(body)
            digest = request_fingerprint(request, body)
        elif digest is None:
            digest = await self.gateway.parse(request.grant.account_id, partial(request_fingerprint, request, body))
        act = partial(self.decide_once, request, key, digest.hex())
        return await self.gateway.retries.once(request, key, digest, act)

    async def decide(self, request: Request) -> tuple[bytes, dict[str, str]]:
        """Return the body of the reply to an admitted request, and its additional headers."""
        checks = request.checks or await self.read_checks(request)
        sign, error = await self.find_signer(request) if [check for check in checks if check.sign] else (None, None)
        decided = checks if error is None else decidable(checks, error)
        is_batch = request.head.path != CHECK
        # Batches are not rendered early: that would delay the decisions and commits of other requests.
        ahead = None if is_batch else EarlyReply(checks, sign)
        render = None if ahead is None else ahead.render
        answers = await self.gateway.check(request, decided, moment(), render)
        count_checks(answers)
        body = None if ahead is None else ahead.body_for(answers)
        if body is None:
            given = answers if error is None else with_unsigned(answers, checks, error)
            body = render_reply(given, checks, sign, is_batch=is_batch)
        return body, {}

    async def decide_once(self, request: Request, key: str, digest: str, is_free: bool) -> KeyedReply:
        """Decide with an Idempotency-Key, and store the reply under it: with the record, or else in a transaction.

        `digest` is the request's fingerprint in hex; `is_free` says that the key is known to be unused. Raises Unsure.
        """
        checks = request.checks or await self.read_checks(request)
        sign, error = await self.find_signer(request) if [check for check in checks if check.sign] else (None, None)
        decided, now = checks if error is None else decidable(checks, error), moment()
        claim = KeyClaim(request.grant.account_key, key, digest, render_timestamp(now) or "")
        is_batch = request.head.path != CHECK
        body = b""
        headers = dict[str, str]()
        answers: Sequence[Answer | ApiError] = ()  # none for a stored reply

        def render(made: Sequence[Answer | ApiError]) -> bytes:
            nonlocal answers
            answers = made
            given = made if error is None else with_unsigned(made, checks, error)
            return render_reply(given, checks, sign, is_batch=is_batch)

        def keep(made: Decisions) -> Reply:
            nonlocal body
            if made.unwritten and not is_free:
                raise Unsure
            body = render(made.answers)
            return Reply(claim, encrypt_reply(body))

        recorded = None
        if self.gateway.retries.are_claimed_in_record:
            recorded = await self.gateway.check_on_cached_facts(request, decided, now, keep)
        if recorded is None:
            answers, act = (), partial(check_once, checks=decided, now=now, claim=claim, render=render)
            try:
                body, headers = await self.gateway.in_transaction(request, now, act)
            except ApiError as refusal:
                if refusal in answers:  # of a single check, which `render` raises
                    count_checks([refusal])
                raise
        count_checks(recorded or answers)
        return body, headers

    async def read_checks(self, request: Request) -> list[Check]:
        """Parse the request's checks: small bodies on the event loop, others in a thread."""
        account_id = request.grant.account_id
        body = request.head.body or b""
        fields = request.plain
        claims = None
        if request.license_token is not None:
            claims = await self.gateway.license_keys.verify(request.license_token, account_id, timezone.now())
        requester = None if claims is None else claims.sub
        if fields is None and len(body) <= MAX_QUICK_BYTES:
            fields = parse_object(body)
        if fields is None or has_draft(fields):
            checks = await self.gateway.parse(account_id, lambda: parse_checks(request, parse_object(body), requester))
        else:
            checks = parse_checks(request, fields, requester)
        return checks if claims is None else attach_license(checks, claims)

    async def find_signer(self, request: Request) -> tuple[Sign | None, ApiError | None]:
        """Return the function that signs decisions, or why none can be signed."""
        signer = await self.gateway.signers.current()
        return (None, signer) if isinstance(signer, ApiError) else (signer.at(request.head.base_url), None)


def request_fingerprint(request: Request, body: bytes) -> bytes:
    """Return the fingerprint of a request with an Idempotency-Key.

    Raises InsufficientPermissions if the key may not read policies and the request needs it, also for a replay.
    """
    fields = parse_object(body, exact=True) if request.plain is None else request.plain
    require_policy_access(request.grant, fields)
    return fingerprint("POST", request.head.path, fields, request.license_token)


def parse_checks(request: Request, fields: JsonObject, requester: str | None) -> list[Check]:
    """Parse a body. `requester` is the default requester.

    Raises ValidationFailed, or InsufficientPermissions if the body needs access to policies that the key lacks.
    """
    require_policy_access(request.grant, fields)
    if request.head.path == CHECK:
        return [parse_check(fields, requester)]
    return parse_batch(fields, requester)
