"""Derives the uses that a policy promises to everybody, and their prices. Uses neither the ORM nor HTTP.

Documents cannot express everything that policies can. Conditions on requester, place, time and frequency are left out:
a document may be stricter than the service, never more permissive.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from licensing.crawler_classes import KEPT_OUT, MINING, USES
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import effective_permission, judge
from licensing.policies.facts import Facts
from licensing.policies.offers import find_offer_of_rule
from licensing.policies.rules import Price, Rule
from licensing.sites.identification import Identification

READ = "read"
CONSENT, PAYMENT = "obtainConsent", "compensate"  # ODRL duties
SETTLED = frozenset({"default", "permission"})  # conditions that depend on nothing but the use
LICENSED = frozenset({"hasValidLicense", "licenseType"})  # conditions on the requester's licences
MAX_PRICES = 20  # rules of a policy of which one may quote a price
ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)  # prices that depend on the time are not published

Promise = frozenset[str]  # a subset of USES
Prices = dict[str, Price]  # by use


def promised_uses(policy: CompiledPolicy | None) -> Promise:
    """Return the uses that the policy allows to everybody. Empty unless reading is allowed too."""
    if policy is None or not always_allows(policy, READ):
        return frozenset()
    return frozenset(use for use in USES if always_allows(policy, use))


def always_allows(policy: CompiledPolicy, permission: str, *, within_limits: bool = False) -> bool:
    """Whether the policy allows the permission to everybody at any time. `within_limits` ignores rate limits."""
    permission = meant_at_edge(policy, permission)
    for rule in policy.rules:
        if not may_match(rule, permission):
            continue
        is_free = rule.action == "allow" and rule.price is None and (within_limits or rule.rate_limit is None)
        if not is_free or not rule.grants_at_edge(permission):
            return False
        if all(condition.name in SETTLED for condition in rule.conditions):
            return True
    return False  # defaultAction grants no named permission


def uses_without_license(policy: CompiledPolicy | None) -> Promise:
    """Return the uses that some visitors without a licence may have for free, perhaps under conditions."""
    return frozenset(use for use in USES if policy is not None and is_open_to_some(policy, use, at_a_price=False))


def uses_with_license_or_payment(policy: CompiledPolicy | None) -> Promise:
    """Return the uses that somebody may have, perhaps with a licence, for a payment or under conditions."""
    return frozenset(use for use in KEPT_OUT if policy is not None and is_open_to_some(policy, use, at_a_price=True))


def is_open_to_some(policy: CompiledPolicy, use: str, *, at_a_price: bool) -> bool:
    """Return whether somebody may have the use; without `at_a_price`, somebody without a licence or payment."""
    use = meant_at_edge(policy, use)
    deciding = SETTLED if at_a_price else SETTLED | LICENSED
    for rule in policy.rules:
        needs_license = any(
            condition.name in LICENSED and condition.value is not False for condition in rule.conditions
        )
        if not may_match(rule, use) or (needs_license and not at_a_price):
            continue
        if rule.action == "allow" and rule.grants_at_edge(use) and (at_a_price or rule.price is None):
            return True
        if all(condition.name in deciding for condition in rule.conditions):
            return False  # this rule decides for everybody else
    return False  # defaultAction grants no named permission


def meant_at_edge(policy: CompiledPolicy, permission: str) -> str:
    """Return the permission by which the policy decides a visitor of a site who asks for this one."""
    return effective_permission(policy, permission, is_at_edge=True) or permission


def may_match(rule: Rule, permission: str) -> bool:
    """Whether the rule's permission conditions admit this permission."""
    permissions = [condition.value for condition in rule.conditions if condition.name == "permission"]
    return all(permission in (value if isinstance(value, list) else [value]) for value in permissions)


def prices_of(policy: CompiledPolicy | None) -> Prices:
    """Return the prices at which everybody without a licence can buy an access, at any time."""
    quoted = ((use, quote_price(policy, use)) for use in USES if policy is not None)
    return {use: price for use, price in quoted if price is not None}


def quote_price(policy: CompiledPolicy, use: str) -> Price | None:
    """Return the price of an access for this use if it depends on nothing but a licence; otherwise None.

    Looks at MAX_PRICES rules with a price, because each has to be decided.
    """
    use = meant_at_edge(policy, use)
    facts = Facts(ANY_TIME, "anonymous", use, identified_by=Identification.SIGNATURE)
    if judge(policy, facts).allowed:
        return None
    prices = 0
    for rule in policy.rules:
        if not may_match(rule, use):
            continue
        if any(condition.name not in SETTLED | LICENSED for condition in rule.conditions):
            return None
        prices += rule.price is not None
        if prices > MAX_PRICES:
            return None
        offer = find_offer_of_rule(rule, policy, facts)
        if offer is not None:
            return offer.price if rule.rate_limit is None else None
    return None


def uses_any_rule_allows(policy: CompiledPolicy | None) -> Promise:
    """Return the uses that some rule allows to somebody."""
    return frozenset(use for use in USES if any(opening_rules(policy, use)))


def opening_rules(policy: CompiledPolicy | None, use: str) -> Iterator[Rule]:
    """Yield the rules that allow the use to somebody."""
    if policy is None:
        return
    use = meant_at_edge(policy, use)
    for rule in policy.rules:
        if rule.action == "allow" and rule.grants_at_edge(use) and may_match(rule, use):
            yield rule


def mining_duties(policy: CompiledPolicy | None) -> tuple[str, ...]:
    """Return the duties under which mining is allowed to some: a licence, plus payment if a rule has a price."""
    rules = [rule for use in sorted(MINING) for rule in opening_rules(policy, use)]
    if not rules:
        return ()
    return (CONSENT, PAYMENT) if any(rule.price is not None for rule in rules) else (CONSENT,)
