"""The cookie by which rate limits per visitor tell readers apart at the edge.

It holds a random id and the rules that have counted it (licensing.policies.rate_limits), signed with SECRET_KEY for
one account. It is only set where such a limit decides.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Malformed
from struct import Struct as Packing

from django.core.signing import BadSignature, Signer
from msgspec import Struct

from licensing.access.deciding import Answer
from licensing.access.event_loop.head import Head
from licensing.policies.rate_limits import MARK_BYTES, MARK_LIFETIME, Marks, cookie_mark, limit_window

NAME = "licensing_visitor"
SECONDS = int(MARK_LIFETIME.total_seconds())  # of its life; the longest window has 31 days
MAX_LENGTH = 256
MAX_MARKS = 15  # as many as fit
MARK = Packing(f">{MARK_BYTES}sI")  # a rule and the begin of a window
find_in_header = re.compile(rf"(?:^|[;,])\s*{NAME}=([^;,\s]*)").search
SALT = "licensing.edge.cookies"


class VisitorCookie(Struct, frozen=True):
    id: str
    marks: Marks


def read_cookie(head: Head, account_id: str) -> VisitorCookie | None:
    """Return the visitor's cookie. None without one, or if its signature is not the service's for this account.

    Proxies send its value in X-Licensing-Visitor; those that cannot pick a cookie send Cookie. With an empty
    X-Licensing-Visitor, a Cookie is not the visitor's but one that the HTTP client of the sender keeps.
    """
    value = head.header(b"x-licensing-visitor")
    if b"x-licensing-visitor" not in head.headers and (match := find_in_header(head.header(b"cookie"))) is not None:
        value = match[1]
    return parse_cookie(value, account_id) if 0 < len(value) <= MAX_LENGTH else None


def parse_cookie(value: str, account_id: str) -> VisitorCookie | None:
    try:
        visitor_id, _, text = signer_for(account_id).unsign(value).partition(".")
        packed = urlsafe_b64decode(text + "==")
    except (BadSignature, Malformed):
        return None
    if len(packed) % MARK.size:  # of an earlier version
        return VisitorCookie(visitor_id, {})
    return VisitorCookie(visitor_id, dict(MARK.iter_unpack(packed)))


def signer_for(account_id: str) -> Signer:
    return Signer(salt=f"{SALT}:{account_id}", sep=".")


def new_cookie(answer: Answer, account_id: str, former: VisitorCookie | None, *, is_secure: bool) -> dict[str, str]:
    """Return the Set-Cookie header of an allowed access that was counted for its address; empty for all others.

    The visitor's `former` cookie keeps its id and marks.
    """
    visitor_id, policy, rule = answer.facts.new_visitor_id, answer.policy, answer.decision.rule
    if visitor_id is None or policy is None or rule is None or rule.rate_limit is None or answer.decision.refuses:
        return {}
    begin, _ = limit_window(rule.rate_limit.period, answer.facts.now)
    marks = {} if former is None else dict(former.marks)
    rule_mark = cookie_mark(policy.id or "", rule)
    marks.pop(rule_mark, None)
    kept = list(marks.items())[1 - MAX_MARKS :]  # the newest
    packed = b"".join(MARK.pack(*mark) for mark in [*kept, (rule_mark, begin)])
    value = signer_for(account_id).sign(f"{visitor_id}.{urlsafe_b64encode(packed).decode().rstrip('=')}")
    secure = "; Secure" if is_secure else ""
    attributes = f"Path=/; Max-Age={SECONDS}; HttpOnly; SameSite=Lax{secure}"
    return {"Set-Cookie": f"{NAME}={value}; {attributes}"}
