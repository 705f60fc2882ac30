"""A check as the service decides it, whichever body or visit it came from."""

from enum import Enum, auto
from types import MappingProxyType

from msgspec import Struct

from licensing.policies.compiled import CompiledPolicy
from licensing.policies.facts import NOTHING, GivenFacts
from licensing.policies.offers import Payment
from licensing.policies.rate_limits import Marks


class PresentedToken(Struct, frozen=True, gc=False):
    """The licence token sent with a check: its licence, and the client it was issued to."""

    license_id: str
    client_id: str


class Payer(Enum):
    """What makes a visitor's payment count."""

    KNOWN = auto()  # its identity is enough
    UNLISTED = auto()  # it is a customer, or the account's `unlistedSigners` is `pay`
    CUSTOMER = auto()  # it has a valid licence or a wallet


class EdgeTerms(Struct, frozen=True, gc=False):
    """Extra terms of an edge request: a second permission, perhaps for another requester, that must also be allowed,
    the visitor's payment, what its cookie says, and whether it is a person, as far as known.
    """

    and_permission: str | None = None
    and_requester_id: str | None = None  # None means the same requester
    payment: Payment | None = None
    payer: Payer = Payer.KNOWN
    marks: Marks = MappingProxyType({})  # of the visitor's cookie
    is_person: bool = False
    is_admitted_by_name: bool = False  # a rule that names the requester or its permission is enough


class Check(Struct, frozen=True, gc=False):
    """A complete check. `selector` is (`contentId`, `externalId`, `source` or, at the edge, `page`; its value)."""

    selector: tuple[str, str]
    requester_id: str
    requester_name: str | None = None
    permission: str | None = None
    given: GivenFacts = NOTHING
    dry_run: bool = False
    explain: bool = False
    sign: bool = False
    policy: CompiledPolicy | None = None  # a proposed policy that replaces the item's own
    correlation_id: str | None = None
    token: PresentedToken | None = None
    edge: EdgeTerms | None = None
    names_item_alone: bool = False  # in a batch: all other fields have the batch's defaults

    @property
    def requesters(self) -> tuple[tuple[str, str | None], ...]:
        """The ids and given names of all requesters the decision depends on."""
        own = (self.requester_id, self.requester_name)
        other = None if self.edge is None else self.edge.and_requester_id
        return (own,) if other is None else (own, (other, None))
