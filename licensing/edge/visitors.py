"""Who a visitor is, and what he wants, by what he sent and where it came from."""

from datetime import datetime
from typing import Any

from msgspec import Struct

from accounts.keys import keytext
from accounts.keys.authentication import license_token
from kit.http.errors import ApiError
from kit.http.middleware import parse_address
from licensing.access.bodies import Check, EdgeTerms, PresentedToken
from licensing.access.event_loop.application import Head
from licensing.access.event_loop.callers import Callers
from licensing.access.event_loop.gateway import Gateway
from licensing.access.tokens.challenges import refused
from licensing.access.tokens.license_tokens import check_scope
from licensing.edge.crawlers import MAX_USER_AGENT, Crawler, current_table
from licensing.edge.identification import Identification
from licensing.edge.original import Original
from licensing.edge.verification.reverse_dns import AddressNames
from licensing.edge.verification.signatures import Signed
from licensing.policies.facts import Given
from licensing.policies.offers import Payment

READ = "read"
ANONYMOUS = "anonymous"


class Visitor(Struct, frozen=True):
    id: str
    name: str | None
    permission: str = READ
    identified_by: Identification = Identification.NOTHING
    and_permission: str | None = None
    and_requester_id: str | None = None
    token: PresentedToken | None = None
    covered: frozenset[str] | None = None  # the components of the request that he signed; None: he did not

    @property
    def is_known(self) -> bool:
        """Beyond what anybody could say of himself."""
        return self.identified_by.verifies

    def check(self, original: Original, user_agent: str, payment: Payment | None = None) -> Check:
        """What is decided and recorded of the page. Nobody pays in another's name, or for what is free."""
        known = {
            "ip": original.address,
            "userAgent": user_agent[:MAX_USER_AGENT],
            "identifiedBy": self.identified_by,
            "waived": original.is_free,
        }
        pays = payment if self.is_known and not original.is_free else None
        return Check(
            selector=("page", original.url),
            requester_id=self.id,
            requester_name=self.name,
            permission=self.permission,
            given=Given.from_record({name: value for name, value in known.items() if value}),
            token=self.token,
            edge=EdgeTerms(self.and_permission, self.and_requester_id, pays),
        )


async def identify(
    head: Head,
    gateway: Gateway,
    signed: Signed | None,
    names: AddressNames,
    account_id: str,
    original: Original,
    now: datetime,
) -> Visitor:
    """Who sent a licence token, who signed the request, a known crawler at an address of its operator's, who sent an
    API key of the account, whom the site's own code names, or somebody unknown.

    Who only says that he is a crawler is held to its class and to what anybody may, as somebody unknown is: he can
    lose by that, and not win. Raises InvalidToken and InsufficientScope.
    """
    authorization = head.header(b"authorization")
    if b"authorization" in head.too_long:
        raise refused("The licence token is malformed.")
    crawler = current_table.get().claimed_by(head.header(b"user-agent"))
    token = license_token(authorization)
    if token is not None:
        said = await gateway.license_keys.verify(token, account_id, now)
        check_scope(said, original.url)
        asked = {} if crawler is None else claims(crawler)
        return Visitor(
            said.sub,
            None,
            identified_by=Identification.LICENSE_TOKEN,
            token=PresentedToken(said.license_id, said.client_id),
            **asked,
        )
    if signed is not None:
        return who_signed(signed, crawler)
    if crawler is not None and (verified_by := place_of(crawler, original.address, names)) is not None:
        return Visitor(f"crawler:{crawler.key}", crawler.name, crawler.permission, verified_by)
    claimed = {} if crawler is None else claims(crawler)
    scheme, _, credentials = authorization.partition(" ")
    if scheme.lower() == "bearer" and keytext.is_well_formed(credentials.strip()):
        own = await key_of(credentials.strip(), gateway.callers, account_id, original, now)
        if own is not None:
            return Visitor(*own, identified_by=Identification.API_KEY, **claimed)
    if original.requester is not None:
        return Visitor(original.requester, None, identified_by=Identification.SITE, **claimed)
    if crawler is not None:
        return Visitor(
            f"unverified:{crawler.key}",
            f"{crawler.name} (unverified)",
            crawler.permission,
            Identification.USER_AGENT,
            and_permission=READ,
            and_requester_id=ANONYMOUS,
        )
    return Visitor(ANONYMOUS, None)


def place_of(crawler: Crawler, address: str | None, names: AddressNames) -> Identification | None:
    """What tells that the visitor comes from where the crawler does: the address or its name; None for neither."""
    if current_table.get().is_at(crawler, address):
        return Identification.ADDRESS
    parsed = parse_address(address) if crawler.hosts and address is not None else None
    if parsed is not None and names.lies_below(parsed, crawler.hosts):
        return Identification.REVERSE_DNS
    return None


def who_signed(signed: Signed, claimed: Crawler | None) -> Visitor:
    """A known crawler whose keys are in that directory, or whoever has the directory: of him only the host is known,
    and what he says to be can be to his loss alone."""
    own = current_table.get().signing_as(signed.host)
    if own is not None:
        name, permission = own.name, own.permission
        return Visitor(f"crawler:{own.key}", name, permission, Identification.SIGNATURE, covered=signed.covered)
    asked = {} if claimed is None else claims(claimed)
    agent = f"agent:{signed.host}"[:255]
    return Visitor(agent, signed.host, identified_by=Identification.SIGNATURE, covered=signed.covered, **asked)


def claims(crawler: Crawler) -> dict[str, Any]:
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
    callers.snapshot.note(account_id, found.epoch)
    return found.key_id, found.key_name
