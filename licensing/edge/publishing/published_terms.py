"""The terms of a published URL, and which of them a crawler reads for a page. Uses neither the ORM nor HTTP."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from licensing.crawler_classes import KEPT_OUT, MINING, USES
from licensing.edge.publishing.promises import (
    Prices,
    Promise,
    mining_duties,
    prices_of,
    promised_uses,
    uses_with_license_or_payment,
    uses_without_license,
)
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.rules import Price
from licensing.sites.patterns import Pattern


class Terms(Struct, frozen=True):
    """The uses promised for pages that match `url`, a pattern of RFC 9309 for path and query.

    `open_to_some` are the uses that somebody without a licence may have for free, the promised ones included.
    `reachable` are the uses that somebody may have, with a licence or for a payment.
    `prices` are those of an access for the uses that everybody may buy. `duties` are the ODRL duties under which text
    and data mining is possible; empty if it is not. `item` is the URL of the item that has these terms; None for the
    terms of a pattern.
    """

    url: str
    uses: Promise = frozenset()
    open_to_some: Promise = frozenset()
    duties: tuple[str, ...] = ()
    prices: Prices = msgspec.field(default_factory=dict)
    item: str | None = None
    reachable: Promise = frozenset()

    @classmethod
    def from_policy(cls, policy: CompiledPolicy | None) -> "Terms":
        return cls(
            "",
            promised_uses(policy),
            uses_without_license(policy),
            mining_duties(policy),
            prices_of(policy),
            reachable=uses_with_license_or_payment(policy),
        )

    @property
    def refused(self) -> Promise:
        """The uses that nobody may have without a licence or payment."""
        return frozenset(USES) - self.open_to_some

    @property
    def mining_price(self) -> Price | None:
        """The price of an access for mining; None if it is not for sale to everybody, or at several prices."""
        prices = {self.prices.get(use) for use in MINING - self.uses}
        return prices.pop() if len(prices) == 1 else None

    def intersect(self, others: Iterable["Terms"]) -> "Terms":
        """Return the terms with only the promises, prices and refusals that all others have too."""
        uses, open_to_some, prices, reachable = self.uses, self.open_to_some, self.prices, self.reachable
        for other in others:
            uses &= other.uses
            open_to_some |= other.open_to_some
            reachable |= other.reachable
            prices = {use: price for use, price in prices.items() if other.prices.get(use) == price}
        return replace(self, uses=uses, open_to_some=open_to_some, prices=prices, reachable=reachable)

    def states_as_much_as(self, other: "Terms") -> bool:
        """Whether the promises, prices and refusals are the same."""
        own = self.uses, self.open_to_some, self.prices, self.reachable
        return own == (other.uses, other.open_to_some, other.prices, other.reachable)


class PolicyTerms:
    """The terms of policies, derived once for each."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[CompiledPolicy | None, Terms]] = {}  # by identity, which lasts while it is kept

    def get(self, policy: CompiledPolicy | None) -> Terms:
        derived = self.known.get(id(policy))
        if derived is None:
            derived = self.known[id(policy)] = policy, Terms.from_policy(policy)
        return derived[1]


class TermsTable:
    """Intersects terms with many others at once. A set of terms is a bit mask of their numbers.

    The first terms have the numbers 0, 1, 2 …, equal or not; `number` adds others, equal ones once.
    """

    def __init__(self, first: Sequence[Terms]) -> None:
        self.count = 0
        self.without_use = dict.fromkeys(USES, 0)
        self.open_to_some = dict.fromkeys(USES, 0)
        self.reachable = dict.fromkeys(KEPT_OUT, 0)
        self.with_price: dict[tuple[str, Price], int] = {}
        self.known: dict[object, int] = {}
        for terms in first:
            self.add(terms)

    def add(self, terms: Terms) -> int:
        """Add terms, and return the set of them alone."""
        added = 1 << self.count
        self.count += 1
        for use in USES:
            if use not in terms.uses:
                self.without_use[use] |= added
            if use in terms.open_to_some:
                self.open_to_some[use] |= added
        for use in terms.reachable:
            self.reachable[use] |= added
        for offer in terms.prices.items():
            self.with_price[offer] = self.with_price.get(offer, 0) | added
        return added

    def number(self, terms: Terms) -> int:
        """Return the set of these terms alone, whatever their URL and item."""
        key = (terms.uses, terms.open_to_some, terms.duties, frozenset(terms.prices.items()), terms.reachable)
        if key not in self.known:
            self.known[key] = self.add(terms)
        return self.known[key]

    def numbers(self, many: Iterable[Terms]) -> int:
        """Return the set of the terms."""
        numbers = 0
        for terms in many:
            numbers |= self.number(terms)
        return numbers

    def intersect(self, terms: Terms, others: int) -> Terms:
        """Return what `Terms.intersect` returns with the terms of the set."""
        uses = frozenset(use for use in terms.uses if not others & self.without_use[use])
        open_to_some = terms.open_to_some | {use for use in USES if others & self.open_to_some[use]}
        reachable = terms.reachable | {use for use in KEPT_OUT if others & self.reachable[use]}
        prices = {}
        for use, price in terms.prices.items():
            if not others & ~self.with_price.get((use, price), 0):
                prices[use] = price
        return replace(terms, uses=uses, open_to_some=open_to_some, prices=prices, reachable=reachable)


@lru_cache(maxsize=10_000)
def url_pattern(url: str) -> Pattern:
    """Return a published URL as a pattern for path and query."""
    is_anchored = url.endswith("$")
    return Pattern(tuple(url.removesuffix("$").split("*")), is_anchored)


def terms_for(terms: Sequence[Terms], target: str) -> Terms | None:
    """Return the terms that a crawler reads for a path with its query; None if there are none."""
    return next((entry for entry in terms if url_pattern(entry.url).matches(target)), None)
