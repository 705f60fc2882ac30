"""Offers: access at a price for requesters without a licence, by rules with `pricePerAccess`. Pure.

Accepting an offer is decided like holding a licence of the rule's type at that price, for one access. Rules without a
price that allow licence holders do not apply (licensing.policies.rules.Rule.first_failing).
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import asdict

from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import Decision, decide, judge, translate_permission, with_license
from licensing.policies.facts import Facts, HeldLicense, PayerFacts
from licensing.policies.rules import Price, Rule

FREE = Price(0, "")
OFFER = "offer"  # `source` of the licence that stands for an accepted offer


class Payment(Struct, frozen=True, gc=False):
    """The requester's offer to pay at most, or exactly, this amount (millionths) for an access."""

    amount: int
    currency: str
    is_exact: bool = False

    def covers(self, price: Price) -> bool:
        is_enough = self.amount == price.amount if self.is_exact else self.amount >= price.amount
        return is_enough and self.currency == price.currency


class Offer(Struct, frozen=True, gc=False):
    rule: Rule
    price: Price
    facts: Facts  # of a requester who accepts it

    @property
    def tier(self) -> str | None:
        return self.rule.tier


def find_offers(policy: CompiledPolicy | None, facts: Facts) -> Iterator[Offer]:
    """Yield the offers that would allow the access, in rule order.

    One pass: a rule decides about payers of any licence type, about those of its own types, or about none.
    """
    if policy is None or facts.archived:
        return
    permission_facts = translate_permission(policy, facts)
    untyped_facts = build_payer_facts(permission_facts, None, 0, "")
    decided_types: set[str] = set()  # licence types about whose payers an earlier rule decides
    for rule in policy.rules:
        decides_all = rule.first_failing(untyped_facts) is None
        if not decides_all and (rule.license_types is None or decided_types.issuperset(rule.license_types)):
            continue
        price = rule.price or FREE
        paying = build_payer_facts(permission_facts, rule.tier, price.amount, price.currency)
        if not decides_all and rule.first_failing(paying) is not None:
            continue
        if rule.price is not None and rule.tier not in decided_types and rule.permits(paying):
            yield Offer(rule, rule.price, build_payer_facts(facts, rule.tier, price.amount, price.currency))
        if decides_all:
            return
        decided_types |= rule.license_types or frozenset()


def price_at_stake(policy: CompiledPolicy | None, facts: Facts) -> Price | None:
    """Return the price of the first offer; None without one, and for what is never charged, such as HEAD."""
    if facts.waived:
        return None
    offer = next(find_offers(policy, facts), None)
    return None if offer is None else offer.price


def find_offer_of_rule(rule: Rule, policy: CompiledPolicy | None, facts: Facts) -> Offer | None:
    """Return the rule's offer; None if it has no price, or does not decide about who pays it."""
    if rule.price is None:
        return None
    paying = build_payer_facts(facts, rule.tier, rule.price.amount, rule.price.currency)
    decision = judge(policy, paying)
    if decision.allowed and decision.rule is rule and decision.license is paying.licenses[0]:
        return Offer(rule, rule.price, paying)
    return None


def build_payer_facts(facts: Facts, license_type: str | None, amount: int, currency: str) -> PayerFacts:
    """Return the facts of a requester who accepts an offer for this licence type, at this price in millionths."""
    held_license = HeldLicense(license_type, OFFER, access_amount=amount, access_currency=currency)
    return PayerFacts(**asdict(with_license(facts, held_license)), unpaid=facts)


def apply_payment(
    policy: CompiledPolicy | None, facts: Facts, decision: Decision, payment: Payment | None
) -> tuple[Facts, Decision]:
    """Return facts and decision after the payment, by the first offer that it covers and that lifts the denial.

    An access that is only observed is not charged, but would be allowed at this price.
    """
    if payment is not None and decision.refuses:
        for offer in find_offers(policy, facts):
            if payment.covers(offer.price):
                return offer.facts, decide(policy, offer.facts)
    return facts, decision


def exact_payment(decision: Decision) -> Payment | None:
    """Return the price of the rule that decided, as a payment of exactly that."""
    price = decision.rule.price if decision.rule is not None else None
    return None if price is None else Payment(price.amount, price.currency, is_exact=True)


def decide_both(
    policy: CompiledPolicy | None, facts: Facts, decision: Decision, further_facts: Facts, payment: Payment | None
) -> tuple[Facts, Decision]:
    """Return the facts and the decision of an allowed access that also needs what `further_facts` asks for.

    If both are allowed and the further rule has a rate limit, it decides: asking for another permission does not avoid
    the limit. A payment pays one price: after it, what `further_facts` asks for has to be free or have the same price.
    """
    further_decision = decide(policy, further_facts)
    if isinstance(further_facts, PayerFacts):
        unpaid = decide(policy, further_facts.unpaid)
        if further_decision.refuses or (unpaid.refuses and further_decision.rule is not decision.rule):
            further_facts, further_decision = apply_payment(
                policy, further_facts.unpaid, unpaid, exact_payment(decision)
            )
    elif further_decision.refuses:
        return apply_payment(policy, further_facts, further_decision, payment)
    is_limited = further_decision.rule is not None and further_decision.rule.rate_limit is not None
    if further_decision.refuses or is_limited:
        return further_facts, further_decision
    return facts, decision
