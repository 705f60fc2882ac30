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


def offers(policy: CompiledPolicy | None, facts: Facts) -> Iterator[Offer]:
    """Yield the offers that would allow the access, in rule order.

    One pass: a rule decides about payers of any licence type, about those of its own types, or about none.
    """
    if policy is None or facts.archived:
        return
    meant = translate_permission(policy, facts)
    untyped = payer_facts(meant, None, 0, "")
    decided: set[str] = set()  # licence types about whose payers an earlier rule decides
    for rule in policy.rules:
        decides_all = rule.first_failing(untyped) is None
        if not decides_all and (rule.license_types is None or decided.issuperset(rule.license_types)):
            continue
        price = rule.price or FREE
        paying = payer_facts(meant, rule.tier, price.amount, price.currency)
        if not decides_all and rule.first_failing(paying) is not None:
            continue
        if rule.price is not None and rule.tier not in decided and rule.permits(paying):
            yield Offer(rule, rule.price, payer_facts(facts, rule.tier, price.amount, price.currency))
        if decides_all:
            return
        decided |= rule.license_types or frozenset()


def offer_by(rule: Rule, policy: CompiledPolicy | None, facts: Facts) -> Offer | None:
    """Return the rule's offer; None if it has no price, or does not decide about who pays it."""
    if rule.price is None:
        return None
    paying = payer_facts(facts, rule.tier, rule.price.amount, rule.price.currency)
    decision = judge(policy, paying)
    if decision.allowed and decision.rule is rule and decision.license is paying.licenses[0]:
        return Offer(rule, rule.price, paying)
    return None


def payer_facts(facts: Facts, tier: str | None, amount: int, currency: str) -> PayerFacts:
    """Return the facts of a requester who accepts an offer of this tier, at this price in millionths."""
    held_license = HeldLicense(tier, OFFER, access_amount=amount, access_currency=currency)
    return PayerFacts(**asdict(with_license(facts, held_license)), unpaid=facts)


def pay(
    policy: CompiledPolicy | None, facts: Facts, decision: Decision, payment: Payment | None
) -> tuple[Facts, Decision]:
    """Return facts and decision after the payment, by the first offer that it covers and that lifts the denial.

    An access that is only observed is not charged, but would be allowed at this price.
    """
    if payment is not None and decision.refuses:
        for offer in offers(policy, facts):
            if payment.covers(offer.price):
                return offer.facts, decide(policy, offer.facts)
    return facts, decision


def paid_by(decision: Decision) -> Payment | None:
    """Return the price of the rule that decided, as a payment of exactly that."""
    price = decision.rule.price if decision.rule is not None else None
    return None if price is None else Payment(price.amount, price.currency, is_exact=True)


def also_allowed(
    policy: CompiledPolicy | None, facts: Facts, decision: Decision, further: Facts, payment: Payment | None
) -> tuple[Facts, Decision]:
    """Return the facts and the decision of an allowed access that also needs what `further` asks for.

    If both are allowed and the further rule has a rate limit, it decides: asking for another permission does not avoid
    the limit. A payment pays one price: after it, what `further` asks for has to be free or to have the same price.
    """
    second = decide(policy, further)
    if isinstance(further, PayerFacts):
        unpaid = decide(policy, further.unpaid)
        if second.refuses or (unpaid.refuses and second.rule is not decision.rule):
            further, second = pay(policy, further.unpaid, unpaid, paid_by(decision))
    elif second.refuses:
        return pay(policy, further, second, payment)
    is_limited = second.rule is not None and second.rule.rate_limit is not None
    return (further, second) if second.refuses or is_limited else (facts, decision)
