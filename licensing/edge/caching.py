"""Whether a proxy may cache an answer: only if it would be the same for everybody with the same cache key.

The key is method, URL, Authorization, User-Agent and Accept (deploy/edge/nginx.conf). So answers that depend on the
visitor's address, on a signature or on a price are not cached, and neither are those that count or cost something.
"""

import re

from kit.hot_settings import hot_setting
from licensing.access.answers import Answer
from licensing.access.event_loop.application import Head
from licensing.access.lifetimes import is_counted, seconds_until_change
from licensing.edge.answers import is_for_sale
from licensing.edge.original import Original
from licensing.edge.visitors import Visitor
from licensing.sites.identification import Identification

NOT_IN_KEY = (b"signature", b"signature-input", b"signature-agent", b"crawler-exact-price", b"crawler-max-price")
# A URL with one reading: all origins take it for the same page.
IS_PLAIN = re.compile(r"https?://[^/]+(/[\w~-][\w.~-]*)*/?", re.ASCII).fullmatch


def is_cacheable(head: Head, original: Original) -> bool:
    """Return whether everything that the request says is in the cache key."""
    if not hot_setting("EDGE_CACHE_SECONDS") or original.requester is not None:
        return False
    return IS_PLAIN(original.url) is not None and not any(
        name in head.headers and head.headers[name] for name in NOT_IN_KEY
    )


def cache_seconds(answer: Answer, visitor: Visitor, head: Head, original: Original) -> int:
    """Return how many seconds the answer may be cached for; 0 if each visit must be asked about."""
    if not is_cacheable(head, original):
        return 0
    most = hot_setting("EDGE_CACHE_SECONDS")
    if visitor.identified_by is Identification.LICENSE_TOKEN:
        most = min(most, (visitor.until or 0) - int(answer.facts.now.timestamp()))
    elif visitor.identified_by is not Identification.NOTHING or b"authorization" in head.headers:
        return 0  # verified by the address, or by a key that may be bound to one
    if is_counted(answer.decision) or answer.credits or is_for_sale(answer):
        return 0
    if answer.policy is not None and answer.policy.reads_address:
        return 0
    return max(0, seconds_until_change(answer.policy, answer.facts, most))
