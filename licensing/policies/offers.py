"""What a policy offers to who holds no licence: access at a price, by the rules with a `pricePerAccess`. Pure.

Who takes an offer is decided as the holder of a licence of its tier at its price, for that one access.
"""

from collections.abc import Iterator
from itertools import chain, islice

from msgspec import Struct
from msgspec.structs import replace

from licensing.policies.decision import CompiledPolicy, Decision, judge
from licensing.policies.facts import Facts, HeldLicense
from licensing.policies.rules import Price, Rule

MAX_TYPES_TRIED = 100  # licence types that one policy may cost the event loop
OFFER = "offer"  # the `source` of a licence that is an offer taken


class Payment(Struct, frozen=True, gc=False):
    """What somebody is ready to pay for an access: at most so much, or exactly that; in millionths."""

    amount: int
    currency: str
    is_exact: bool = False

    def covers(self, price: Price) -> bool:
        is_enough = self.amount == price.amount if self.is_exact else self.amount >= price.amount
        return is_enough and self.currency == price.currency


class Offer(Struct, frozen=True, gc=False):
    rule: Rule
    price: Price
    facts: Facts  # those of who takes it

    @property
    def tier(self) -> str | None:
        return self.rule.tier


def offers(policy: CompiledPolicy | None, facts: Facts) -> Iterator[Offer]:
    """Those by which the access would be allowed, in the order in which the rules are tried."""
    for rule in policy.rules if policy is not None else ():
        if rule.price is None:
            continue
        taken = with_license(facts, license_of_offer(rule.tier, rule.price.amount, rule.price.currency))
        decision = judge(policy, taken)
        if decision.allowed and decision.rule is rule and decision.license is taken.licenses[0]:
            yield Offer(rule, rule.price, taken)


def is_open_to_licensees(policy: CompiledPolicy | None, facts: Facts) -> bool:
    """Return whether a licence of some type would open the access to this requester."""
    rules = policy.rules if policy is not None else ()
    types = dict.fromkeys(chain([None], *(rule.license_types or () for rule in rules if rule.action == "allow")))
    return any(
        judge(policy, with_license(facts, HeldLicense(type_))).allowed for type_ in islice(types, MAX_TYPES_TRIED)
    )


def license_of_offer(tier: str | None, amount: int, currency: str) -> HeldLicense:
    return HeldLicense(tier, OFFER, access_amount=amount, access_currency=currency)


def with_license(facts: Facts, held: HeldLicense) -> Facts:
    """The facts of the same requester with that licence, before all others."""
    types = facts.license_types if held.license_type is None else (held.license_type, *facts.license_types)
    return replace(facts, license_types=types, has_valid_license=True, licenses=(held, *facts.licenses))


def taken(policy: CompiledPolicy | None, facts: Facts, decision: Decision, payment: Payment) -> Facts | None:
    """The facts under which a denied access is paid for: by the first offer that the payment covers, if any."""
    if decision.allowed:
        return None
    return next((offer.facts for offer in offers(policy, facts) if payment.covers(offer.price)), None)
