"""Who a visitor is, and what he wants, by what he sent and where it came from."""

from datetime import datetime

from msgspec import Struct

from accounts import keytext
from kit.http.errors import ApiError
from kit.http.middleware import parse_address
from licensing.access.bodies import Check
from licensing.access.event_loop.application import Head
from licensing.access.event_loop.callers import Callers
from licensing.edge.crawlers import MAX_USER_AGENT, Crawler, current_table
from licensing.edge.original import Original

READ = "read"
ANONYMOUS = "anonymous"


class Visitor(Struct, frozen=True):
    id: str
    name: str | None
    permission: str = READ
    and_permission: str | None = None

    def check(self, original: Original, user_agent: str) -> Check:
        """What is decided and recorded of the page."""
        return Check(
            selector=("page", original.url),
            requester_id=self.id,
            requester_name=self.name,
            permission=self.permission,
            and_permission=self.and_permission,
            ip=original.address,
            user_agent=user_agent[:MAX_USER_AGENT] or None,
            is_free=original.is_free,
        )


class TokenRefused(Exception):
    """A licence token that does not verify."""


async def identify(head: Head, callers: Callers, account_id: str, original: Original, now: datetime) -> Visitor:
    """A known crawler at an address of its operator's, who sent an API key of the account, or somebody unknown.

    Who only says that he is a crawler is held to its class and to what anybody may: he can lose by that, and not win.
    Raises TokenRefused.
    """
    scheme, _, credentials = head.header(b"authorization").partition(" ")
    if scheme.lower() == "license":
        raise TokenRefused
    crawler = current_table.get().claimed_by(head.header(b"user-agent"))
    if crawler is not None and current_table.get().is_at(crawler, original.address):
        return Visitor(f"crawler:{crawler.key}", crawler.name, crawler.permission)
    claimed = {} if crawler is None else claims(crawler)
    if scheme.lower() == "bearer" and keytext.is_well_formed(credentials.strip()):
        own = await key_of(credentials.strip(), callers, account_id, original, now)
        if own is not None:
            return Visitor(*own, **claimed)
    if crawler is not None:
        return Visitor(f"unverified:{crawler.key}", f"{crawler.name} (unverified)", **claimed)
    return Visitor(ANONYMOUS, None)


def claims(crawler: Crawler) -> dict[str, str]:
    return {} if crawler.permission == READ else {"permission": crawler.permission, "and_permission": READ}


async def key_of(
    text: str, callers: Callers, account_id: str, original: Original, now: datetime
) -> tuple[str, str] | None:
    """The id and name of a key of the account that is valid at the visitor's address; None for any other.

    It is read anew each time: the decision's record confirms the edge's key, and would not know that this one ended.
    """
    found = await callers.keys.submit(text)
    if isinstance(found, ApiError) or found.account_id != account_id:
        return None
    try:
        found.check(now)
        found.check_address(None if original.address is None else parse_address(original.address))
    except ApiError:
        return None
    callers.snapshot.advance(account_id, found.epoch)
    return found.key_id, found.key_name
