"""The answers that each kind of visitor gets behind every proxy.

The docs print this table (docs/reference/edge.md), and test_visitors.py runs it.
"""

from typing import NamedTuple

FREE, PREMIUM, UNKNOWN = "free", "premium", "unknown"
PRICE = ("crawler-price", "USD 0.015")
CHARGED = ("crawler-charged", "USD 0.015")
REFUSED_PRICE, REFUSED_SIGNATURE = ("crawler-error", "StrongAuthRequired"), ("crawler-error", "InvalidSignature")
REFUSED_TOKEN, REFUSED_PAGE = (
    ("www-authenticate", f'License error="{error}"') for error in ("invalid_token", "insufficient_scope")
)


class Visitor(NamedTuple):
    """A visitor, the requester that decisions are about, and the statuses on a site that enforces.

    `shown` is a header of the premium page's answer: its name and how its value begins. `elsewhere` is the requester
    on other pages, if it is another one. Everybody gets 200 for a free page.
    """

    name: str
    requester: str
    premium: int
    unknown: int
    shown: tuple[str, str] | None = None
    elsewhere: str | None = None

    def status(self, page: str) -> int:
        return {FREE: 200, PREMIUM: self.premium, UNKNOWN: self.unknown}[page]

    def requester_on(self, page: str) -> str:
        return self.requester if page == PREMIUM else self.elsewhere or self.requester


VISITORS = [
    Visitor("a browser", "anonymous", 402, 403),
    Visitor("no User-Agent", "anonymous", 402, 403),
    Visitor("Googlebot, on the first visit from an address", "crawler:googlebot", 200, 403),
    Visitor("Googlebot, later", "crawler:googlebot", 200, 403),
    Visitor("claims to be Googlebot", "unverified:googlebot", 402, 403),
    Visitor("claims to be GPTBot", "unverified:gptbot", 402, 403, PRICE),
    Visitor("claims to be GPTBot and offers a price", "unverified:gptbot", 400, 403, REFUSED_PRICE),
    Visitor("GPTBot", "crawler:gptbot", 402, 403, PRICE),
    Visitor("GPTBot, offers a price", "crawler:gptbot", 200, 403, CHARGED),
    Visitor("licence token for the page", "org_acme", 200, 403, elsewhere="anonymous"),
    Visitor("invalid licence token", "anonymous", 401, 401, REFUSED_TOKEN),
    Visitor("licence token for other pages", "anonymous", 403, 403, REFUSED_PAGE),
    Visitor("signature", "agent:signer.example", 200, 403),
    Visitor("signature for another host", "anonymous", 400, 400, REFUSED_SIGNATURE),
    Visitor("signature that was used before", "anonymous", 400, 400, REFUSED_SIGNATURE),
    Visitor("customer's API key", "key_…", 200, 403),
]
