"""The cookie by which rate limits per visitor tell readers apart at the edge.

It holds a random id and which rule counted the access that brought it (licensing.policies.rate_limits), signed with
SECRET_KEY for one account. It is only set where such a limit decides.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Malformed

from django.core.signing import BadSignature, Signer
from msgspec import Struct

from licensing.access.answers import Answer
from licensing.access.event_loop.application import Head
from licensing.policies.rate_limits import spent_mark, window

NAME = "licensing_visitor"
SECONDS = 180 * 86_400  # of its life; the longest window has 31 days
MAX_LENGTH = 128
IN_HEADER = re.compile(rf"(?:^|[;,])\s*{NAME}=([^;,\s]*)").search
SALT = "licensing.edge.cookies"


class VisitorCookie(Struct, frozen=True):
    """A visitor's cookie; `spent` is the mark of the access that brought it."""

    id: str
    spent: bytes


def cookie_of(head: Head, account_id: str) -> VisitorCookie | None:
    """Return the visitor's cookie. None without one, or if its signature is not the service's for this account.

    Proxies send its value in X-Licensing-Visitor; those that cannot pick a cookie send Cookie. With an empty
    X-Licensing-Visitor, a Cookie is not the visitor's but one that the HTTP client of the sender keeps.
    """
    value = head.header(b"x-licensing-visitor")
    if b"x-licensing-visitor" not in head.headers and (found := IN_HEADER(head.header(b"cookie"))) is not None:
        value = found[1]
    return parse_cookie(value, account_id) if 0 < len(value) <= MAX_LENGTH else None


def parse_cookie(value: str, account_id: str) -> VisitorCookie | None:
    try:
        visitor_id, _, mark = signer_for(account_id).unsign(value).partition(".")
        return VisitorCookie(visitor_id, urlsafe_b64decode(mark + "=="))
    except (BadSignature, Malformed):
        return None


def signer_for(account_id: str) -> Signer:
    return Signer(salt=f"{SALT}:{account_id}", sep=".")


def value_of(cookie: VisitorCookie, account_id: str) -> str:
    mark = urlsafe_b64encode(cookie.spent).decode().rstrip("=")
    return signer_for(account_id).sign(f"{cookie.id}.{mark}")


def new_cookie(answer: Answer, account_id: str, *, is_secure: bool) -> dict[str, str]:
    """Return the Set-Cookie header of an allowed access that was counted for its address; empty for all others."""
    visitor_id, policy, rule = answer.facts.new_visitor_id, answer.policy, answer.decision.rule
    if visitor_id is None or policy is None or rule is None or rule.rate_limit is None or answer.decision.refuses:
        return {}
    begin, _ = window(rule.rate_limit.period, answer.facts.now)
    cookie = VisitorCookie(visitor_id, spent_mark(policy.id or "", rule, begin))
    secure = "; Secure" if is_secure else ""
    attributes = f"Path=/; Max-Age={SECONDS}; HttpOnly; SameSite=Lax{secure}"
    return {"Set-Cookie": f"{NAME}={value_of(cookie, account_id)}; {attributes}"}
