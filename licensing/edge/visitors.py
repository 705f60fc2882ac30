"""Identifies visitors and the permission they need, from their headers and address."""

from datetime import datetime
from typing import Any

from msgspec import Struct

from accounts.keys import keytext
from accounts.keys.authentication import license_token
from kit.http.errors import ApiError
from kit.http.headers import parse_address
from licensing.access.check_values import Check, EdgeTerms, Payer, PresentedToken
from licensing.access.event_loop.callers import Callers
from licensing.access.event_loop.gateway import Gateway
from licensing.access.event_loop.head import Head
from licensing.access.tokens.challenges import invalid_token_error
from licensing.access.tokens.license_tokens import check_scope
from licensing.edge.crawlers import MAX_USER_AGENT, Crawler, has_signs
from licensing.edge.current_crawlers import current_table
from licensing.edge.original import Original
from licensing.edge.verification.reverse_dns import AddressNames
from licensing.edge.verification.signatures import VerifiedSignature
from licensing.policies.facts import GivenFacts
from licensing.policies.offers import Payment
from licensing.policies.rate_limits import Marks
from licensing.sites.identification import Identification

READ = "read"
ANONYMOUS = "anonymous"
UNVERIFIED, AGENT = "unverified:", "agent:"  # begin the ids of claimed crawlers, and of unlisted signers
PEOPLE = frozenset({Identification.LICENSE_TOKEN, Identification.API_KEY, Identification.SITE, Identification.NOTHING})


def can_be_charged(requester_id: str) -> bool:
    """Return whether a visitor with this id has proved who it is. An account may exclude unlisted signers as well."""
    return requester_id != ANONYMOUS and not requester_id.startswith(UNVERIFIED)


class Visitor(Struct, frozen=True):
    id: str
    name: str | None
    permission: str = READ
    identified_by: Identification = Identification.NOTHING
    and_permission: str | None = None
    and_requester_id: str | None = None
    token: PresentedToken | None = None
    until: int | None = None  # end of the token, in Unix seconds
    covered: frozenset[str] | None = None  # components of the request that the visitor signed; None if unsigned
    payer: Payer = Payer.KNOWN  # what makes a payment of it count
    is_admitted_by_name: bool = False  # a rule that names it makes `and_permission` unnecessary

    @property
    def is_known(self) -> bool:
        """Whether the identity is proven, not merely claimed."""
        return self.identified_by.verifies

    @property
    def is_person(self) -> bool:
        """Whether nothing suggests that the visitor is a crawler."""
        return self.permission == READ and self.and_permission is None and self.identified_by in PEOPLE

    def check(self, original: Original, user_agent: str, payment: Payment | None = None) -> Check:
        """Build the check of the page.

        A payment counts only for proven visitors, the cookie only for others. A free request is not charged.
        A referrer counts only for people, and not if the User-Agent has signs of a crawler.
        """
        cookie = None if self.is_known else original.cookie
        user_agent = user_agent[:MAX_USER_AGENT]
        referrer = original.referrer if self.is_person and not original.is_free else None
        facts = {
            "ip": original.address,
            "visitorId": None if cookie is None else cookie.id,
            "userAgent": user_agent,
            "identifiedBy": self.identified_by,
            "waived": original.is_free,
            "referrer": None if referrer is None or has_signs(user_agent) else referrer,
        }
        pays = payment if self.is_known else None
        marks: Marks = {} if cookie is None else cookie.marks
        return Check(
            selector=("page", original.url),
            requester_id=self.id,
            requester_name=self.name,
            permission=self.permission,
            given=GivenFacts.from_record({name: value for name, value in facts.items() if value}),
            token=self.token,
            edge=EdgeTerms(
                self.and_permission,
                self.and_requester_id,
                pays,
                self.payer,
                marks,
                is_person=self.is_person,
                is_admitted_by_name=self.is_admitted_by_name,
            ),
        )


async def identify(
    head: Head,
    gateway: Gateway,
    signed: VerifiedSignature | None,
    names: AddressNames,
    account_id: str,
    original: Original,
    now: datetime,
) -> Visitor:
    """Identify the visitor. The first that applies: licence token, signature, crawler's published address or name, API
    key of the account, the site's own statement, an unverified crawler, anonymous.

    A visitor who only claims to be a crawler needs both the crawler's permission and an anonymous visitor's, so that
    the claim can never gain access. Only link previews and advertising checks gain it, by a rule that names them.
    Raises InvalidToken and InsufficientScope.
    """
    authorization = head.header(b"authorization")
    if b"authorization" in head.too_long and any(map(license_token, sent_authorizations(head))):
        raise invalid_token_error("The licence token is malformed.")
    crawler = current_table.get().claimed_by(head.header(b"user-agent"))
    token = license_token(authorization)
    if token is not None:
        presented = await gateway.license_keys.verify(token, account_id, now)
        for url in (original.url, *original.further):
            check_scope(presented, url)
        return Visitor(
            presented.sub,
            None,
            identified_by=Identification.LICENSE_TOKEN,
            token=PresentedToken(presented.license_id, presented.client_id),
            until=presented.exp,
            **claims(crawler),
        )
    if signed is not None:
        return signing_visitor(signed, crawler)
    if crawler is not None and (verified_by := await identify_address(crawler, original.address, names)) is not None:
        return verified_visitor(crawler, verified_by)
    claimed = claims(crawler)
    scheme, _, credentials = authorization.partition(" ")
    if scheme.lower() == "bearer" and keytext.is_well_formed(credentials.strip()):
        api_key = await find_api_key(credentials.strip(), gateway.callers, account_id, original, now)
        if api_key is not None:
            return Visitor(*api_key, identified_by=Identification.API_KEY, **claimed)
    if original.requester is not None:
        return Visitor(original.requester, None, identified_by=Identification.SITE, payer=Payer.CUSTOMER, **claimed)
    return claimed_visitor(crawler)


def sent_authorizations(head: Head) -> list[str]:
    """Return the values of Authorization as they were sent, however long: other schemes are the origin's affair."""
    return [value.decode("latin-1") for name, value in head.scope["headers"] if name == b"authorization"]


def verified_visitor(crawler: Crawler, by: Identification, covered: frozenset[str] | None = None) -> Visitor:
    return Visitor(f"crawler:{crawler.key}", crawler.name, crawler.permission, by, covered=covered)


def claimed_visitor(crawler: Crawler | None) -> Visitor:
    """Return the visitor that the User-Agent claims to be."""
    if crawler is not None:
        return Visitor(
            f"{UNVERIFIED}{crawler.key}",
            f"{crawler.name} (unverified)",
            crawler.permission,
            Identification.USER_AGENT,
            and_permission=READ,
            and_requester_id=ANONYMOUS,
            is_admitted_by_name=crawler.is_admitted_by_name,
        )
    return Visitor(ANONYMOUS, None)


async def identify_address(crawler: Crawler, address: str | None, names: AddressNames) -> Identification | None:
    """Return how the address verifies the crawler: by range or by reverse DNS name; None if it does not."""
    if current_table.get().is_at(crawler, address):
        return Identification.ADDRESS
    parsed = parse_address(address) if crawler.hosts and address is not None else None
    if parsed is not None and await names.is_named_below(parsed, crawler.hosts):
        return Identification.REVERSE_DNS
    return None


def signing_visitor(signed: VerifiedSignature, claimed: Crawler | None) -> Visitor:
    """Return the visitor for a signed request: a known crawler, or the host of the key directory.

    For an unknown host, a claimed crawler name can only restrict access.
    """
    listed = current_table.get().by_directory.get(signed.host)
    if listed is not None:
        return verified_visitor(listed, Identification.SIGNATURE, signed.covered)
    agent = f"{AGENT}{signed.host}"[:255]
    return Visitor(
        agent,
        signed.host,
        identified_by=Identification.SIGNATURE,
        covered=signed.covered,
        payer=Payer.UNLISTED,
        **claims(claimed),
    )


def claims(crawler: Crawler | None) -> dict[str, Any]:
    """Return the permissions that a visitor with another identity needs, who claims to be this crawler, if any."""
    if crawler is None or crawler.permission == READ or crawler.is_admitted_by_name:
        return {}
    return {"permission": crawler.permission, "and_permission": READ}


async def find_api_key(
    text: str, callers: Callers, account_id: str, original: Original, now: datetime
) -> tuple[str, str] | None:
    """Return id and name of the account's API key if it is valid at the visitor's address; otherwise None.

    Reads the key every time, because recording the decision only confirms the edge's own key.
    """
    grant = await callers.keys.submit(text)
    if isinstance(grant, ApiError) or grant.account_id != account_id:
        return None
    try:
        grant.check(now)
        grant.check_address(None if original.address is None else parse_address(original.address))
    except ApiError:
        return None
    callers.snapshot.note(account_id, grant.epoch)
    return grant.key_id, grant.key_name
