"""Translates decisions for proxies: a status, headers, and a body that is passed on to the visitor."""

import re
from math import ceil
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from kit.hot_settings import hot_setting
from kit.http.errors import ApiError, HostNotAllowed, InsufficientScope, InvalidToken
from kit.http.rendering import render_json
from kit.values.timestamps import parse_timestamp
from licensing.access.deciding import Answer
from licensing.access.event_loop.head import Head
from licensing.access.rendering import is_counted, present_rate, seconds_until_change
from licensing.access.tokens.challenges import challenge
from licensing.edge.current_crawlers import current_table
from licensing.edge.original import CACHED_BY_ADDRESS, Original, has_option
from licensing.edge.payment_headers import CHARGED, ERROR, PRICE, PaymentRefused, format_price, render_price
from licensing.edge.publishing.documents import headers_beyond_terms, terms_headers
from licensing.edge.publishing.promises import READ, always_allows
from licensing.edge.verification.signatures import InvalidSignature
from licensing.edge.visitors import Visitor
from licensing.policies.decision import UNPAID, WITHOUT_LICENSE, Reason, is_open_to_licensees
from licensing.policies.facts import HeldLicense
from licensing.policies.modes import Mode
from licensing.policies.offers import Offer, Payment, find_offers
from licensing.sites.identification import Identification
from licensing.sites.refusal_page import render_page
from licensing.sites.refusal_texts import RefusalTexts

MESSAGES = {
    Reason.NO_LICENSE: "A licence is needed for this.",
    Reason.LICENSE_EXPIRED: "The licence for this has ended.",
    Reason.CREDITS_EXHAUSTED: "The credit for this is used up.",
    Reason.QUOTA_EXCEEDED: "The quota for this is used up.",
    Reason.RATE_LIMIT_EXCEEDED: "This was asked for too often.",
}
# Of a refused token, on the page: readers have signed in, and know of no token.
READER_TEXTS = {
    InvalidToken.code: "Please sign in again.",
    InsufficientScope.code: "Your access does not include this page.",
}
SECONDS_OF_A_DAY = 86_400
MAX_BODY_IN_HEADER = 12 * 1024  # bytes; deploy/edge/nginx.conf takes 16 KiB of headers
WOULD_HEADER = "X-Access-Would"
CACHE_HEADER = "X-Access-Cache"  # Cache-Control of a page that no shared cache may keep
PRIVATE = {CACHE_HEADER: "private"}
MODE_HEADER = "X-Access-Mode"  # of a site that refuses nobody: middleware keeps it open while the service is down
# Asks for a signature of Web Bot Auth (RFC 9421, section 5.1).
ACCEPT_SIGNATURE = {
    "Accept-Signature": 'sig1=("@authority" "signature-agent";key="sig1");created;expires;tag="web-bot-auth"'
}
DENIED = "Access to this is denied."
PRICED = "This has to be paid for."
LICENSED = "A licence for this use is needed."
NOT_IN_KEY = (b"signature", b"signature-input", b"signature-agent", b"crawler-exact-price", b"crawler-max-price")
# Parameters that campaigns and social networks add. They choose no page.
TRACKING = r"(utm_[a-z]+|fbclid|gclid|gbraid|wbraid|dclid|msclkid|mc_[ce]id|igshid|ttclid|twclid|yclid)=[\w.~-]*"
# A URL with one reading: all origins take it for the same page.
has_one_reading = re.compile(rf"https?://[^/]+(/[\w~-][\w.~-]*)*/?(\?{TRACKING}(&{TRACKING})*)?", re.ASCII).fullmatch
CHALLENGES = {402: challenge("A licence is needed for this.", "insufficient_scope")}

VISIBLE = "".join(map(chr, range(0x21, 0x7F))).replace("%", "")
is_visible = re.compile(f"[{re.escape(VISIBLE)}]*").fullmatch

# Why a token, signature or price that a visitor sent is refused.
Refusal = InvalidToken | InsufficientScope | PaymentRefused | InvalidSignature


class EdgeAnswer(Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes = b""
    cache_seconds: int = 0  # how long the proxy may cache it
    message: str = ""  # of a denial
    is_specific: bool = False  # the message is about this very refusal, not the general one for its reason
    is_page: bool = False  # the body is HTML

    def as_page(self, texts: RefusalTexts, host: str) -> "EdgeAnswer":
        """Return the denial with a page for people as its body. Status and headers stay."""
        message = self.message if self.is_specific else texts.message or self.message
        decision_id = self.headers.get("X-Access-Id", "")
        return replace(
            self, body=render_page(texts, host, message, self.headers.get(PRICE), decision_id), is_page=True
        )

    def by_403(self) -> "EdgeAnswer":
        """Return the answer for nginx, which supports no denial but 403 and drops bodies.

        X-Access-Status has the real status, X-Access-Body the body.
        """
        if not 400 <= self.status < 500:
            return self
        extra = {"X-Access-Status": str(self.status)}
        if len(self.body) <= MAX_BODY_IN_HEADER:
            extra["X-Access-Body"] = self.body.decode("latin-1")  # as bytes of a header are written
        return replace(self, status=403, headers={**self.headers, **extra})


def decision_headers(status: int, decision: str, original: Original) -> dict[str, str]:
    headers = {"X-Access-Decision": decision, "X-Access-Status": str(status), **license_link(original)}
    return headers | CHALLENGES.get(status, {})


def encode_requester(requester_id: str) -> str:
    """Return the id for a header: percent-encoded except for visible ASCII characters."""
    return requester_id if is_visible(requester_id) else quote(requester_id, safe=VISIBLE)


def license_link(original: Original) -> dict[str, str]:
    return {"Link": f'<{original.license_url}>; rel="license"; type="application/rsl+xml"'}


def open_page(original: Original) -> EdgeAnswer:
    """Return the answer for a page that needs no decision; nothing is recorded."""
    return EdgeAnswer(200, decision_headers(200, "allow", original))


def refused_host(refusal: HostNotAllowed, answer: Answer | ApiError, original: Original) -> EdgeAnswer:
    """Return the denial for a host that the key does not cover. `answer` has the recorded decision's id."""
    if not isinstance(answer, Answer):
        raise answer
    status = refusal.status_code
    headers = about_decision(answer) | {"X-Access-Reason": refusal.code}
    body = render_refusal(refusal.code, DENIED)  # the key is no concern of the visitor
    return EdgeAnswer(status, decision_headers(status, "deny", original) | headers, body, message=DENIED)


def refuse_visit(refusal: Refusal, original: Original, answer: Answer | None = None) -> EdgeAnswer:
    """Return the denial for a token that does not count, or a 400. `answer` has the recorded decision, if any."""
    reason = refusal_reason(refusal)
    if isinstance(refusal, ApiError):
        status, message, own_headers = refusal.status_code, refusal.message, refusal.headers
    else:
        status, message, own_headers = 400, str(refusal), {ERROR: refusal.code}
    recorded = {} if answer is None else about_decision(answer)
    headers = {**decision_headers(status, "deny", original), **recorded, **own_headers, "X-Access-Reason": reason}
    if refusal.code in ("InvalidSignature", "StrongAuthRequired"):
        headers |= ACCEPT_SIGNATURE
    body, reader_text = render_refusal(reason, message), READER_TEXTS.get(reason)
    return EdgeAnswer(status, headers, body, message=reader_text or message, is_specific=reader_text is None)


def refusal_reason(refusal: Refusal) -> str:
    """Return the X-Access-Reason of a refused token, signature or price."""
    if isinstance(refusal, InvalidSignature):
        return "invalid_signature"
    return "invalid_payment" if isinstance(refusal, PaymentRefused) else refusal.code


def ask_to_sign(reply: EdgeAnswer) -> EdgeAnswer:
    """Return the denial of an unproven crawler with a request for a signature. All other replies stay."""
    if reply.status not in (402, 403):
        return reply
    return replace(reply, headers=reply.headers | ACCEPT_SIGNATURE)


def would_refuse(reply: EdgeAnswer, refusal: Refusal) -> EdgeAnswer:
    """Return the reply of a site that only observes, with the reason for which enforcement would refuse."""
    return replace(reply, headers={**reply.headers, WOULD_HEADER: f"deny; reason={refusal_reason(refusal)}"})


def build_answer(answer: Answer, original: Original, payment: Payment | None = None) -> EdgeAnswer:
    """Return the edge's answer for a decision. `payment` is the visitor's offer, if any."""
    if answer.decision.allowed:
        return allow_visit(answer, original)
    return deny_visit(answer, original, payment)


def about_decision(answer: Answer) -> dict[str, str]:
    return {"X-Access-Id": answer.id or "", "X-Access-Requester": encode_requester(answer.requester_id)}


def allow_visit(answer: Answer, original: Original) -> EdgeAnswer:
    """Return the answer for an allowed or only observed visit: the terms of the page, and what it cost."""
    decision = answer.decision
    headers = decision_headers(200, "allow", original) | about_decision(answer)
    own_terms: dict[str, str] = {}
    if decision.rule is not None and not decision.refuses:
        own_terms = headers_beyond_terms(answer.policy, answer.facts.permission)
    headers |= own_terms or terms_headers(answer.policy, original.origin)
    if decision.observed:
        headers[WOULD_HEADER] = f"deny; reason={decision.observed}"
    if answer.facts.mode != Mode.ENFORCE:
        headers[MODE_HEADER] = answer.facts.mode
    if decision.price is not None:
        headers[CHARGED] = format_price(*decision.price)
    if own_terms or decision.price is not None or not is_for_everybody(answer):
        headers |= PRIVATE
    return EdgeAnswer(200, headers)


def deny_visit(answer: Answer, original: Original, payment: Payment | None) -> EdgeAnswer:
    """Return the denial: 402 with the price if one is offered, and its reason and message."""
    decision = answer.decision
    reason = decision.reason or Reason.POLICY_DENIED
    page_offers = offers_for(answer)
    status = 402 if page_offers else denial_status(answer)
    headers = decision_headers(status, "deny", original) | about_decision(answer)
    if page_offers:
        headers |= render_price(page_offers, payment)
    elif reason in UNPAID:
        headers |= price_of_license(decision.license)
    headers["X-Access-Reason"] = reason
    rate = present_rate(answer)
    if rate is not None and rate["retryAfter"] is not None:
        headers["Retry-After"] = str(rate["retryAfter"])
    if (seconds := seconds_until_refill(answer)) is not None:
        headers["Retry-After"] = str(seconds)
    rule_message = decision.rule.message if decision.rule is not None else None
    message = rule_message or general_message(status, reason, has_price=bool(page_offers))
    body = render_refusal(reason, message)
    return EdgeAnswer(status, headers, body, message=message, is_specific=bool(rule_message))


def price_of_license(license_: HeldLicense | None) -> dict[str, str]:
    """Return the header with the price that an access costs under the visitor's licence, if it costs one."""
    if license_ is None or not license_.access_amount or license_.access_currency is None:
        return {}
    return {PRICE: format_price(license_.access_amount, license_.access_currency)}


def general_message(status: int, reason: Reason, *, has_price: bool) -> str:
    if status == 403:
        return DENIED
    return MESSAGES.get(reason, PRICED if has_price else LICENSED)


def is_for_everybody(answer: Answer) -> bool:
    """Whether everybody may read the allowed page at any time, or its site or policy refuses nobody."""
    policy = answer.policy
    return policy is None or answer.facts.mode != Mode.ENFORCE or always_allows(policy, READ)


def denial_status(answer: Answer) -> int:
    """Return the status of a denial without a price: 402 only if a licence or credit would help this requester."""
    reason = answer.decision.reason
    if reason == Reason.RATE_LIMIT_EXCEEDED:
        return 429
    if reason == Reason.PERMISSION_NOT_GRANTED and answer.policy is not None:
        return 402 if is_open_to_licensees(answer.policy, answer.facts) else 403
    return 402 if reason in UNPAID or reason in WITHOUT_LICENSE else 403


def seconds_until_refill(answer: Answer) -> int | None:
    """Return the seconds until the wallet is refilled, for Retry-After; None if the refill is over a day away."""
    refill = (answer.credits or {}).get("nextRefillAt")
    if answer.decision.allowed or not isinstance(refill, str):
        return None
    seconds = ceil((parse_timestamp(refill) - answer.facts.now).total_seconds())
    return max(seconds, 1) if seconds <= SECONDS_OF_A_DAY else None


def offers_for(answer: Answer) -> list[Offer]:
    """Return the offers that would open a denied page."""
    if answer.decision.allowed or answer.decision.reason in (Reason.RATE_LIMIT_EXCEEDED, *UNPAID):
        return []
    return list(find_offers(answer.policy, answer.facts))


def render_refusal(code: str, message: str) -> bytes:
    return render_json({"error": {"code": code, "message": message, "type": "access_denied"}})


def cache_seconds(answer: Answer, visitor: Visitor, head: Head, original: Original) -> int:
    """Return how many seconds the proxy may cache the answer for; 0 if each visit must be asked about.

    Only an answer may be cached that is the same for everybody with the same cache key. The key is method, URL,
    Authorization, User-Agent and Accept (deploy/edge/nginx.conf), and the visitor's address if the proxy says so
    (`cached-by=address`), as for crawlers. Answers that count or cost something may not be cached.
    """
    seconds, has_address = hot_setting("EDGE_CACHE_SECONDS"), has_option(head, CACHED_BY_ADDRESS)
    if not seconds or original.requester is not None or has_one_reading(original.url) is None:
        return 0
    if any(head.headers.get(name) for name in NOT_IN_KEY):
        return 0
    if visitor.identified_by is Identification.LICENSE_TOKEN:
        seconds = min(seconds, (visitor.until or 0) - int(answer.facts.now.timestamp()))
    elif b"authorization" in head.headers:
        return 0  # perhaps a key that is bound to an address
    elif visitor.identified_by is not Identification.NOTHING and not (has_address and is_settled(visitor, head)):
        return 0
    if is_counted(answer.decision) or answer.credits or offers_for(answer):
        return 0
    if answer.policy is not None and answer.policy.reads_address and not has_address:
        return 0
    return max(0, seconds_until_change(answer.policy, answer.facts, seconds))


def is_settled(visitor: Visitor, head: Head) -> bool:
    """Whether the address has identified the crawler, or cannot do so later by a slow reverse DNS lookup."""
    if visitor.identified_by in (Identification.ADDRESS, Identification.REVERSE_DNS):
        return True
    claimed = current_table.get().claimed_by(head.header(b"user-agent"))
    return visitor.identified_by is Identification.USER_AGENT and claimed is not None and not claimed.hosts
