"""Answers proxies' requests (/v1/access/forward and siblings) on the event loop, like access checks.

Uses the same decision path as checks: licensing.edge.visitors turns the visitor's request into a check, the gateway
decides and records it, and licensing.edge.answers turns the decision into headers.
"""

import logging
from datetime import datetime
from functools import partial
from time import perf_counter
from typing import Any

from msgspec.structs import replace

from accounts.limits.windows import edge_hit
from kit.hot_settings import hot_setting
from kit.http.bodies import Receive, Scope, Send
from kit.http.error_replies import as_api_error, forget_frames
from kit.http.errors import ApiError, HostNotAllowed, InsufficientScope, InvalidToken, MissingApiKey, NotFound
from kit.http.headers import request_id, valid_request_id
from kit.http.rendering import render_json
from kit.storage.light_tasks import moment
from kit.telemetry.observing import log_access
from kit.telemetry.repeated_log import RepeatedLog
from licensing.access.check_values import Check, EdgeTerms
from licensing.access.deciding import Answer, decide_check, strictest_page
from licensing.access.event_loop.application import CheckApplication, respond
from licensing.access.event_loop.callers import Callers, Sender
from licensing.access.event_loop.gateway import Gateway
from licensing.access.event_loop.head import VISITOR_HEADERS, Head, header_lines
from licensing.access.event_loop.metrics import FORWARDED, count_checks, count_request
from licensing.edge.answers import (
    PRIVATE,
    WOULD_HEADER,
    EdgeAnswer,
    Refusal,
    about_decision,
    ask_to_sign,
    build_answer,
    cache_seconds,
    license_link,
    offers_for,
    open_page,
    refuse_visit,
    refused_host,
    would_refuse,
)
from licensing.edge.cookies import new_cookie, read_cookie
from licensing.edge.current_crawlers import current_table
from licensing.edge.further_pages import strictest_check
from licensing.edge.original import (
    DENY_403,
    FORWARD,
    Original,
    UntrustedProxy,
    has_option,
    is_question,
    peer_address,
    read_original,
)
from licensing.edge.payment_headers import PaymentRefused, read_payment
from licensing.edge.proxies.wrong_keys import note_other_key, note_unknown_key
from licensing.edge.verification.directories import Directories
from licensing.edge.verification.reverse_dns import AddressNames
from licensing.edge.verification.signatures import InvalidSignature, Signatures
from licensing.edge.visitors import ANONYMOUS, Visitor, claimed_visitor, identify
from licensing.policies.offers import Payment
from licensing.sites.refusal_page import wants_page
from licensing.sites.refusal_texts import NO_TEXTS, RefusalTexts

UNKNOWN_PAYER = (
    "The publisher has to know who pays. Send its licence token or API key, ask it for a licence or a wallet, "
    "or come as a listed crawler."
)
KEY_HEADER = b"x-licensing-key"
ERRORS_HEADER = b"x-licensing-errors"
log = logging.getLogger(__name__)
UNSEEN = object()
JSON_TYPE, PAGE_TYPE = b"content-type: application/json\r\n", b"content-type: text/html; charset=utf-8\r\n"
VARY, VARY_BY_ACCEPT = b"vary: origin\r\n", b"vary: origin, accept\r\n"
NO_STORE = b"cache-control: no-store\r\n"
# nginx ignores `private`, and obeys its own header, which has to come first.
CACHE = b"x-accel-expires: %d\r\ncache-control: private, max-age=%d\r\n"


class Edge(Sender):
    """The calling proxy, authenticated by its own key in X-Licensing-Key."""

    def __init__(self, head: Head, callers: Callers) -> None:
        key = head.header(KEY_HEADER).strip()
        super().__init__(callers, f"Bearer {key}" if key else "", peer_address(head))
        # A proxy gives up after two seconds and refuses the visitor, who is not to be charged for that.
        self.is_awaited = head.scope.get("extensions", {}).get("is_awaited")
        self.signed: Any = UNSEEN  # who signed the visitor's request, once verified

    async def count(self) -> None:
        """Count the request towards the plan's edge quota, which refuses nothing."""
        hit = edge_hit(self.grant.account_id, *self.grant.edge_limits)
        if self.is_counted:
            hit = replace(hit, cost=0)
        self.limit_state = await self.callers.count(hit)
        self.is_counted = True

    def is_at_fault(self, error: ApiError) -> bool:
        """Whether the proxy's own key or address is refused, which no visitor can bring about."""
        return not self.is_admitted or isinstance(error, UntrustedProxy)

    async def authenticate(self) -> None:
        if not self.authorization:
            raise MissingApiKey("Send the edge's API key in X-Licensing-Key.")
        await super().authenticate()


class ForwardApplication(CheckApplication):
    """The ASGI application for proxies. Shares the gateway of access checks and its caches."""

    def __init__(
        self,
        gateway: Gateway | None = None,
        directories: Directories | None = None,
        names: AddressNames | None = None,
    ) -> None:
        super().__init__(gateway)
        self.signatures = Signatures(self.gateway.callers, directories)
        self.names = names or AddressNames()
        self.faults = RepeatedLog()

    def serves(self, scope: Scope) -> bool:
        return scope["type"] == "http" and is_question(scope["path"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = perf_counter()
        head = Head(scope, self.proxies)
        edge = Edge(head, self.gateway.callers)
        token = request_id.set(valid_request_id(head.header(b"x-request-id")))
        try:
            try:
                answer = await edge.serve(partial(self.ask, head, edge))
            except Exception as exc:  # every error is answered here; as_api_error logs unforeseen ones
                error = as_api_error(exc)
                status, headers = error.status_code, {**self.link_to_terms(head), **error.headers}
                if edge.is_at_fault(error):
                    edge.note_refusal(error, moment())
                    note_unknown_key(edge, head, self.proxies, error)
                    if head.header(ERRORS_HEADER) == "503":
                        fault = f"A proxy could not ask, so its file decides ({error.code}): {error.message}"
                        self.faults.log(log, logging.WARNING, error.code, fault)
                        status = 503
                answer = EdgeAnswer(status, headers, render_json({"error": error.as_dict()}))
                forget_frames(exc)
            if has_option(head, DENY_403):
                answer = answer.by_403()
            state = edge.limit_state or await self.gateway.callers.limit_of_address(edge.address)
            lines = header_lines(state, answer.headers, len(answer.body), is_secure=False, common=VISITOR_HEADERS)
            if answer.status != 200:  # which has a body, in one of two forms
                lines = lines.replace(VARY, VARY_BY_ACCEPT, 1)
            if answer.is_page:
                lines = lines.replace(JSON_TYPE, PAGE_TYPE, 1)
            if answer.cache_seconds:
                lines = lines.replace(NO_STORE, CACHE % (answer.cache_seconds, answer.cache_seconds), 1)
            await respond(scope, send, answer.status, lines, b"" if scope["method"] == "HEAD" else answer.body)
            count_request(FORWARDED, answer.status, seconds := perf_counter() - begun)
            if self.logs_access:
                log_access(scope["method"], FORWARD, answer.status, seconds, getattr(edge, "grant", None))
        finally:
            request_id.reset(token)

    def link_to_terms(self, head: Head) -> dict[str, str]:
        """Return the Link header to the licence terms, also for errors; empty if the page is unknown."""
        try:
            return license_link(read_original(head, self.proxies))
        except ApiError:
            return {}

    async def ask(self, head: Head, edge: Edge) -> EdgeAnswer:
        """Answer an admitted proxy. The page's host need not be in ALLOWED_HOSTS."""
        original = read_original(head, self.proxies)
        if (cookie := read_cookie(head, edge.grant.account_id)) is not None:
            original = replace(original, cookie=cookie)
        reply = await self.answer_visit(head, edge, original, moment())
        if reply.status == 200 or not wants_page(head.header(b"accept")):
            return reply
        return reply.as_page(await self.refusal_texts(edge, original), original.host)

    async def refusal_texts(self, edge: Edge, original: Original) -> RefusalTexts:
        """Return the texts of the page's site for refused people, from the snapshot that the decision filled."""
        check = replace(Visitor(ANONYMOUS, None).check(original, ""), dry_run=True)
        item = (await self.gateway.facts.look_up(edge.grant.account_id, [check])).items.get(check.selector)
        return NO_TEXTS if item is None else item.refusal

    async def answer_visit(self, head: Head, edge: Edge, original: Original, now: datetime) -> EdgeAnswer:
        """Decide about the visitor's request."""
        user_agent = head.header(b"user-agent")
        try:
            await self.check_host(edge, original.host)
        except HostNotAllowed as refusal:
            check = Visitor(ANONYMOUS, None).check(original, user_agent)
            is_person = current_table.get().claimed_by(user_agent) is None
            check = replace(check, selector=("elsewhere", original.url), edge=EdgeTerms(is_person=is_person))
            answer = await self.decide_page(edge, check, now)
            return refused_host(refusal, answer, original)
        if original.is_public:
            return open_page(original)
        visitor = None
        try:
            if edge.signed is UNSEEN:  # once per request, even if it is admitted again, because a nonce is valid once
                edge.signed = await self.signatures.signer(head, original)
            visitor = await identify(head, self.gateway, edge.signed, self.names, edge.grant.account_id, original, now)
            payment = read_payment(head, visitor.covered)
            check = visitor.check(original, user_agent, payment)
            answer = await self.decide_page(edge, check, now, original.further)
            if isinstance(answer, InvalidToken):  # its licence has ended
                visitor = None
                raise answer
        except (InvalidToken, InsufficientScope, PaymentRefused, InvalidSignature) as refusal:
            return await self.answer_without(refusal, edge, visitor, user_agent, original, now)
        if payment is not None and isinstance(answer, Answer) and offers_for(answer):
            is_payer = visitor.is_known and not answer.payer_unknown
            if not is_payer:
                return refuse_visit(PaymentRefused("StrongAuthRequired", UNKNOWN_PAYER), original, answer)
        reply = self.reply_to(edge, answer, original, payment)
        if not visitor.is_known and not visitor.is_person:
            reply = ask_to_sign(reply)
        if hot_setting("EDGE_CACHE_SECONDS") and isinstance(answer, Answer):
            return replace(reply, cache_seconds=cache_seconds(answer, visitor, head, original))
        return reply

    async def check_host(self, edge: Edge, host: str) -> None:
        """Raise HostNotAllowed if the key is neither for the host nor for another host of its site."""
        try:
            edge.grant.check_host(host)
        except HostNotAllowed:
            hosts = await self.gateway.hosts.submit((edge.grant.account_id, host))
            if edge.grant.hosts.isdisjoint(hosts):
                if hosts:  # visitors can name any host, but this one is a site of the account
                    note_other_key(edge, host, self.faults, log)
                raise

    def reply_to(
        self, edge: Edge, answer: Answer | ApiError, original: Original, payment: Payment | None = None
    ) -> EdgeAnswer:
        """Build the reply to a visitor from the decision. Raises ApiError."""
        if isinstance(answer, NotFound):  # the account was deleted meanwhile
            return open_page(original)
        count_checks([answer])
        if not isinstance(answer, Answer):
            raise answer
        reply = build_answer(answer, original, payment)
        cookie = new_cookie(answer, edge.grant.account_id, original.cookie, is_secure=original.is_secure)
        return replace(reply, headers=reply.headers | cookie | PRIVATE) if cookie else reply

    async def answer_without(
        self,
        refusal: Refusal,
        edge: Edge,
        visitor: Visitor | None,
        user_agent: str,
        original: Original,
        now: datetime,
    ) -> EdgeAnswer:
        """Answer a visitor whose token, signature or price is refused; `visitor` is None if nothing else names it.

        A page that is open to everybody, or only observed, stays open.
        """
        if visitor is None:
            visitor = claimed_visitor(current_table.get().claimed_by(user_agent))
        check = visitor.check(original, user_agent)
        preview = await self.preview(edge.grant.account_id, check, now)
        if preview is None or preview.decision.allowed:
            answer = await self.decide_page(edge, check, now, original.further)
            if isinstance(answer, InvalidToken):  # the licence of its token has ended, too
                return await self.answer_without(refusal, edge, None, user_agent, original, now)
            if not isinstance(answer, Answer) or answer.decision.allowed:
                reply = self.reply_to(edge, answer, original)
                return would_refuse(reply, refusal) if WOULD_HEADER in reply.headers else reply
            denial = refuse_visit(refusal, original)  # a limit is used up, which is recorded
            return replace(denial, headers=denial.headers | about_decision(answer))
        return refuse_visit(refusal, original)

    async def preview(self, account_id: str, check: Check, now: datetime) -> Answer | None:
        """Decide on facts that need not be the newest, without limits, wallets or a record. None without an item."""
        facts = await self.gateway.facts.look_up(account_id, [replace(check, dry_run=True)])
        item = facts.items.get(check.selector)
        if item is None:
            return None
        people = [facts.requesters[requester_id] for requester_id, _ in check.requesters]
        page = strictest_page(check, item, facts.requesters, now)
        return decide_check(check, page, people[0], now, people[1] if people[1:] else None)

    async def decide_page(
        self, edge: Edge, check: Check, now: datetime, further: tuple[str, ...] = ()
    ) -> Answer | ApiError:
        """Record the strictest decision on the page and further ones. Returns NotFound if the account was deleted."""
        check = await strictest_check(self.gateway, edge, check, further, now)
        [answer] = await self.gateway.check(edge, [check], now)
        if isinstance(answer, NotFound):
            await self.gateway.other_hosts.submit(edge.grant.account_id)
            # Now the item exists that visits of hosts without a site are recorded under.
            [answer] = await self.gateway.check(edge, [check], now)
        return answer
