"""Derives the uses that published documents may promise to everybody, and their prices. Uses neither the ORM nor HTTP.

Documents cannot express everything that policies can. Conditions on requester, place, time and frequency are left out,
as are uses that some item of the host refuses: a document may be stricter than the service, never more permissive.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kit.values.paths import PATH_CHARACTERS
from licensing.policies.decision import CompiledPolicy, judge
from licensing.policies.facts import Facts
from licensing.policies.offers import offers
from licensing.policies.rules import Price, Rule
from licensing.sites.identification import Identification
from licensing.sites.patterns import compiled

READ = "read"
USES = ("search", "ai_input", "ai_training")
MINING = frozenset({"ai_input", "ai_training"})  # the uses that count as text and data mining
CONSENT, PAYMENT = "obtainConsent", "compensate"  # ODRL duties
SETTLED = frozenset({"default", "permission"})  # conditions that depend on nothing but the use
LICENSED = frozenset({"hasValidLicense", "licenseType"})  # conditions that depend on the requester's licences
ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)  # prices that depend on the time are not published

Promise = frozenset[str]  # a subset of USES
Prices = dict[str, Price]  # by use


class Terms(Struct, frozen=True):
    """The uses promised for pages that match `url`, a pattern of RFC 9309 for path and query.

    `prices` are those of an access for the uses that everybody may buy. `duties` are the ODRL duties under which text
    and data mining is possible; empty if it is not.
    """

    url: str
    uses: Promise
    duties: tuple[str, ...] = ()
    prices: Prices = msgspec.field(default_factory=dict)

    @property
    def mining_price(self) -> Price | None:
        """The price of an access for mining; None if it is not for sale to everybody, or at several prices."""
        prices = {self.prices.get(use) for use in MINING - self.uses}
        return prices.pop() if len(prices) == 1 else None


def promised(policy: CompiledPolicy | None) -> Promise:
    """Return the uses that the policy allows to everybody. Empty unless reading is allowed too."""
    if policy is None or not always_allows(policy, READ):
        return frozenset()
    return frozenset(use for use in USES if always_allows(policy, use))


def always_allows(policy: CompiledPolicy, permission: str) -> bool:
    """Whether the policy allows the permission to everybody at any time."""
    for rule in policy.rules:
        if not may_match(rule, permission):
            continue
        is_open = rule.action == "allow" and rule.rate_limit is None and rule.price is None
        if not is_open or not rule.grants_at_edge(permission):
            return False
        if all(condition.name in SETTLED for condition in rule.conditions):
            return True
    return False  # defaultAction grants no named permission


def may_match(rule: Rule, permission: str) -> bool:
    """Whether the rule's permission conditions admit this permission."""
    wanted = [condition.wanted for condition in rule.conditions if condition.name == "permission"]
    return all(permission in (one if isinstance(one, list) else [one]) for one in wanted)


def prices_of(policy: CompiledPolicy | None) -> Prices:
    """Return the prices at which everybody without a licence can buy an access, at any time."""
    found = ((use, quoted(policy, use)) for use in USES)
    return {use: price for use, price in found if price is not None}


def quoted(policy: CompiledPolicy | None, use: str) -> Price | None:
    """Return the price of an access for this use if it depends on nothing but a licence; otherwise None."""
    facts = Facts(ANY_TIME, "anonymous", use, identified_by=Identification.SIGNATURE)
    offer = next(offers(policy, facts), None)
    if policy is None or offer is None or offer.rule.rate_limit is not None or judge(policy, facts).allowed:
        return None
    for rule in policy.rules:
        if may_match(rule, use) and any(one.name not in SETTLED | LICENSED for one in rule.conditions):
            return None
        if rule is offer.rule:
            return offer.price
    return None


def common_prices(many: Sequence[Prices]) -> Prices:
    """Return the prices that all of them have."""
    return {use: price for use, price in many[0].items() if all(one.get(use) == price for one in many)}


def allowed_to_some(policy: CompiledPolicy | None) -> Promise:
    """Return the uses that some rule allows to somebody."""
    return frozenset(use for use in USES if any(opening(policy, use)))


def opening(policy: CompiledPolicy | None, use: str) -> Iterator[Rule]:
    """Yield the rules that allow the use to somebody."""
    for rule in policy.rules if policy is not None else ():
        if rule.action == "allow" and rule.grants_at_edge(use) and may_match(rule, use):
            yield rule


def duties_of(policy: CompiledPolicy | None) -> tuple[str, ...]:
    """Return the duties under which mining is allowed to some: a licence, plus payment if a rule has a price."""
    rules = [rule for use in sorted(MINING) for rule in opening(policy, use)]
    if not rules:
        return ()
    return (CONSENT, PAYMENT) if any(rule.price is not None for rule in rules) else (CONSENT,)


def terms_of(
    rules: Sequence[tuple[str, CompiledPolicy | None]], of_items: Iterable[CompiledPolicy | None]
) -> list[Terms]:
    """Return the terms of a site's patterns, most specific first.

    Registered items override patterns at any URL, so a use that one item refuses is promised nowhere, and a price is
    published if all items have it. Crawlers rank patterns of equal length differently, so those promise only what all
    of them allow, and share their prices.
    """
    everywhere, prices = frozenset(USES), []
    for policy in of_items:
        everywhere &= promised(policy)
        prices.append(prices_of(policy))
    found = [
        Terms(url, promised(policy) & everywhere, duties_of(policy), common_prices([prices_of(policy), *prices]))
        for pattern, policy in rules
        for url in spelled(pattern)
    ]
    equals: dict[int, list[Terms]] = defaultdict(list)
    for one in found:
        equals[len(one.url)].append(one)
    found.sort(key=lambda one: (-len(one.url), one.url))
    return [shared_terms(one, equals[len(one.url)]) for one in found]


def shared_terms(terms: Terms, equals: Sequence[Terms]) -> Terms:
    """Return the terms without what other patterns of equal length do not have."""
    uses = terms.uses.intersection(*(one.uses for one in equals))
    return replace(terms, uses=uses, prices=common_prices([terms.prices, *(one.prices for one in equals)]))


def spelled(pattern: str) -> list[str]:
    """Return the pattern as documents write it.

    There patterns include the query, so a final `$` becomes two patterns.
    """
    known = compiled(pattern)
    text = "*".join(quote(part, safe=PATH_CHARACTERS) for part in known.parts)
    return [f"{text}$", f"{text}?*"] if known.is_anchored else [text]
