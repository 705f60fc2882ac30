"""Whether a proxy may cache an answer: only if it would be the same for everybody with the same cache key.

The key is method, URL, Authorization, User-Agent and Accept (deploy/edge/nginx.conf), and the visitor's address if the
proxy says so (`cached-by=address`), as for crawlers. Answers that depend on an address outside the key, on a
signature or on a price are not cached. Neither are those that count or cost something.
"""

import re

from kit.hot_settings import hot_setting
from licensing.access.deciding import Answer
from licensing.access.event_loop.head import Head
from licensing.access.rendering import is_counted, seconds_until_change
from licensing.edge.answers import offers_for
from licensing.edge.current_crawlers import current_table
from licensing.edge.original import CACHED_BY_ADDRESS, Original, has_option
from licensing.edge.visitors import Visitor
from licensing.sites.identification import Identification

NOT_IN_KEY = (b"signature", b"signature-input", b"signature-agent", b"crawler-exact-price", b"crawler-max-price")
# Parameters that campaigns and social networks add. They choose no page.
TRACKING = r"(utm_[a-z]+|fbclid|gclid|gbraid|wbraid|dclid|msclkid|mc_[ce]id|igshid|ttclid|twclid|yclid)=[\w.~-]*"
# A URL with one reading: all origins take it for the same page.
IS_PLAIN = re.compile(rf"https?://[^/]+(/[\w~-][\w.~-]*)*/?(\?{TRACKING}(&{TRACKING})*)?", re.ASCII).fullmatch


def cache_seconds(answer: Answer, visitor: Visitor, head: Head, original: Original) -> int:
    """Return how many seconds the answer may be cached for; 0 if each visit must be asked about."""
    most, has_address = hot_setting("EDGE_CACHE_SECONDS"), has_option(head, CACHED_BY_ADDRESS)
    if not most or original.requester is not None or IS_PLAIN(original.url) is None:
        return 0
    if any(head.headers.get(name) for name in NOT_IN_KEY):
        return 0
    if visitor.identified_by is Identification.LICENSE_TOKEN:
        most = min(most, (visitor.until or 0) - int(answer.facts.now.timestamp()))
    elif b"authorization" in head.headers:
        return 0  # perhaps a key that is bound to an address
    elif visitor.identified_by is not Identification.NOTHING and not (has_address and is_settled(visitor, head)):
        return 0
    if is_counted(answer.decision) or answer.credits or offers_for(answer):
        return 0
    if answer.policy is not None and answer.policy.reads_address and not has_address:
        return 0
    return max(0, seconds_until_change(answer.policy, answer.facts, most))


def is_settled(visitor: Visitor, head: Head) -> bool:
    """Whether the address has identified the crawler, or cannot do so later by a slow reverse DNS lookup."""
    if visitor.identified_by in (Identification.ADDRESS, Identification.REVERSE_DNS):
        return True
    claimed = current_table.get().claimed_by(head.header(b"user-agent"))
    return visitor.identified_by is Identification.USER_AGENT and claimed is not None and not claimed.hosts
