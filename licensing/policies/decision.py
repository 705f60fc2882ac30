"""Decide a check from a policy and facts (docs/reference/policies.md). Pure: no ORM, clock or I/O.

Takes the first matching rule; licensing.policies.compiled sorts them by `Rule.precedence`.
"""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from analytics.wallets.units import ACCESS
from licensing.crawler_classes import DECIDED_AS_AT_SITES, DECIDED_AS_BY_API
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.facts import Facts, HeldLicense, PayerFacts, Shortfall
from licensing.policies.modes import Mode
from licensing.policies.rules import Rule

ENFORCE = Mode.ENFORCE.value  # the usual mode; looking it up in the class takes as long as evaluating a rule


class Reason(StrEnum):
    """The reason for a denial; every denial has exactly one. `words` is its text for people."""

    words: str

    CONTENT_ARCHIVED = "content_archived", "the item was archived"
    NO_POLICY = "no_policy", "the item had no policy"
    HOST_NOT_ALLOWED = "host_not_allowed", "the asking key was not for that host"
    PERMISSION_NOT_GRANTED = "permission_not_granted", "the permission asked for was not granted"
    RATE_LIMIT_EXCEEDED = "rate_limit_exceeded", "the rule's rate limit was used up"
    CREDITS_EXHAUSTED = "credits_exhausted", "the credit in the wallet was used up"
    QUOTA_EXCEEDED = "quota_exceeded", "the quota of accesses was used up"
    LICENSE_EXPIRED = "license_expired", "the licences had lapsed"
    NO_LICENSE = "no_license", "there was no valid licence"
    POLICY_DENIED = "policy_denied", "the policy denied it; there was a valid licence, or none would have helped"

    def __new__(cls, value: str, words: str = "") -> "Reason":
        reason = str.__new__(cls, value)
        reason._value_ = value
        reason.words = words
        return reason


# Module constants for the same reason as ENFORCE.
NO_LICENSE = Reason.NO_LICENSE
LICENSE_EXPIRED = Reason.LICENSE_EXPIRED
POLICY_DENIED = Reason.POLICY_DENIED
WITHOUT_LICENSE = (NO_LICENSE, LICENSE_EXPIRED)  # denials for lack of a valid licence
UNPAID = (Reason.CREDITS_EXHAUSTED, Reason.QUOTA_EXCEEDED)  # denials because a wallet does not cover the access
# Denials that a (larger) licence would have turned into accesses.
UNMET_DEMAND = (
    Reason.NO_LICENSE,
    Reason.LICENSE_EXPIRED,
    Reason.PERMISSION_NOT_GRANTED,
    Reason.RATE_LIMIT_EXCEEDED,
    Reason.CREDITS_EXHAUSTED,
    Reason.QUOTA_EXCEEDED,
)


UNTYPED_LICENSE = HeldLicense(None)  # a licence without a type


class Decision(Struct, frozen=True, gc=False):
    """An access decision.

    `rule` is the matching rule; None if the default action or an earlier step decided. `observed` is None if decisions
    are enforced. In observe mode every check is allowed, and `observed` is the reason it would have been denied for,
    or empty if it would have been allowed.
    """

    allowed: bool
    reason: Reason | None = None
    rule: Rule | None = None
    permissions: tuple[str, ...] = ()
    license: HeldLicense | None = None
    observed: str | None = None
    waived: bool = False  # not charged, even if the licence has a price

    @property
    def refuses(self) -> bool:
        """Whether this is a denial, or would be one if it were enforced."""
        return not self.allowed or bool(self.observed)

    @property
    def price(self) -> tuple[int, str] | None:
        """The licence's price of this access: (millionths, currency), or None if it is free."""
        license_ = self.license
        if license_ is None or not license_.access_amount or license_.access_currency is None or not self.is_charged:
            return None
        return license_.access_amount, license_.access_currency

    @property
    def is_charged(self) -> bool:
        """Whether licences and wallets are charged. Denied, waived and observed decisions are free."""
        return self.allowed and self.observed is None and not self.waived


def decide(policy: CompiledPolicy | None, facts: Facts) -> Decision:
    """Decide whether the requester may access the item, taking the mode into account."""
    if facts.mode == ENFORCE and (policy is None or policy.mode == ENFORCE):
        return judge(policy, facts)
    mode = effective_mode(policy, facts)
    if mode == Mode.DISABLED:
        return Decision(True)
    decision = judge(policy, facts)
    return decision if mode == Mode.ENFORCE else observe(decision)


def effective_mode(policy: CompiledPolicy | None, facts: Facts) -> str:
    """Return the more lenient of the site's and the policy's mode. The policy's does not count for archived items."""
    if policy is None or policy.mode == Mode.ENFORCE or facts.archived:
        return facts.mode
    return Mode.DISABLED if Mode.DISABLED in (policy.mode, facts.mode) else Mode.OBSERVE


def observe(decision: Decision) -> Decision:
    """Turn a decision into an observed one: always allowed, with the reason of a denial in `observed`."""
    if decision.allowed:
        return replace(decision, observed="")
    return replace(decision, allowed=True, reason=None, permissions=(), observed=decision.reason)


def deny_by_rate_limit(decision: Decision) -> Decision:
    """Return the decision as it is when the rule's rate limit is used up."""
    if decision.observed is not None:
        return replace(decision, permissions=(), observed=Reason.RATE_LIMIT_EXCEEDED)
    return replace(decision, allowed=False, reason=Reason.RATE_LIMIT_EXCEEDED, permissions=())


def build_unpaid_denial(decision: Decision, shortfall: Shortfall) -> Decision:
    """Return the decision as it is when a wallet does not cover the price."""
    reason = Reason.QUOTA_EXCEEDED if shortfall.unit == ACCESS else Reason.CREDITS_EXHAUSTED
    if decision.observed is not None:
        return replace(decision, permissions=(), observed=reason)
    return replace(decision, allowed=False, reason=reason, permissions=())


def falls_short(decision: Decision, shortfall: Shortfall) -> bool:
    """Return whether a wallet with this available balance cannot pay for the decision."""
    if shortfall.unit == ACCESS:
        return counts_as_access(decision)
    amount, currency = decision.price or (0, "")
    return currency == shortfall.unit and amount > shortfall.available


def counts_as_access(decision: Decision) -> bool:
    """Return whether the decision uses a quota of accesses: each access allowed by a licence of the service does."""
    license_ = decision.license
    return license_ is not None and license_.id is not None and decision.is_charged


def judge(policy: CompiledPolicy | None, facts: Facts) -> Decision:
    """Evaluate the policy, ignoring its mode. Rate limits are counted later."""
    if facts.archived:
        return Decision(False, Reason.CONTENT_ARCHIVED)
    if policy is None:
        if facts.is_open:
            return Decision(True)
        return Decision(False, Reason.HOST_NOT_ALLOWED if facts.is_elsewhere else Reason.NO_POLICY)
    if facts.permission in DECIDED_AS_AT_SITES:
        facts = translate_permission(policy, facts)
    if type(facts) is PayerFacts:
        matching = (rule for rule in policy.rules if rule.matches(facts))
        return apply_rule(next(matching, None), policy, facts)
    for rule in policy.rules:
        for test in rule.tests:
            if not test(facts):
                break
        else:
            return apply_rule(rule, policy, facts)
    return apply_rule(None, policy, facts)


def translate_permission(policy: CompiledPolicy, facts: Facts) -> Facts:
    """Return the facts with the permission that the policy means, if it does not name the requested one."""
    permission = effective_permission(policy, facts.permission, is_at_edge=facts.identified_by is not None)
    return facts if permission == facts.permission else replace_permission(facts, permission)


def effective_permission(policy: CompiledPolicy, permission: str | None, *, is_at_edge: bool) -> str | None:
    """Return the permission itself, or the older one by which a policy that does not name it decides it."""
    if permission is None or permission in policy.named_permissions:
        return permission
    decided_as = DECIDED_AS_AT_SITES if is_at_edge else DECIDED_AS_BY_API
    return decided_as.get(permission, permission)


def replace_permission(facts: Facts, permission: str | None) -> Facts:
    """Return the facts of the same requester, with its payment, for another permission."""
    if isinstance(facts, PayerFacts):
        return replace(facts, permission=permission, unpaid=replace(facts.unpaid, permission=permission))
    return replace(facts, permission=permission)


def apply_rule(rule: Rule | None, policy: CompiledPolicy, facts: Facts) -> Decision:
    """Return the decision of the matching rule, or without one of the default action.

    A rule with a price denies requesters without a licence, who can pay for the access (licensing.policies.offers).
    """
    action = policy.default_action if rule is None else rule.action
    if action != "allow":
        return build_denial(find_denial_reason(policy, facts), rule, facts)
    if facts.permission is not None and (rule is None or not rule.permits(facts)):
        return build_denial(Reason.PERMISSION_NOT_GRANTED, rule, facts)
    license_ = license_behind(rule, facts)
    if rule is None:
        return Decision(True, license=license_, waived=facts.waived)
    if rule.price is not None and license_ is None:
        return build_denial(find_denial_reason(policy, facts), rule, facts)
    return Decision(True, None, rule, rule.granted_permissions(facts), license_, None, facts.waived)


def build_denial(reason: Reason, rule: Rule | None, facts: Facts) -> Decision:
    return Decision(False, reason, rule, license=decisive_license(reason, rule, facts))


def find_denial_reason(policy: CompiledPolicy, facts: Facts) -> Reason:
    """Return the reason: lack of a licence only where some licence would help this requester."""
    if facts.has_valid_license or not is_open_to_licensees(policy, facts):
        return POLICY_DENIED
    return LICENSE_EXPIRED if facts.has_lapsed_license else NO_LICENSE


def is_open_to_licensees(policy: CompiledPolicy, facts: Facts) -> bool:
    """Return whether some licence type would allow the access to this requester. One pass."""
    if facts.permission in DECIDED_AS_AT_SITES:
        facts = translate_permission(policy, facts)
    untyped_facts = with_license(facts, UNTYPED_LICENSE)
    decided_types: set[str] = set()  # licence types about whose holders an earlier rule decides
    for rule in policy.rules:
        decides_all = rule.matches(untyped_facts)
        if not decides_all:
            if rule.license_types is None or decided_types.issuperset(rule.license_types):
                continue
            if not rule.matches(with_license(facts, HeldLicense(rule.tier))):
                continue
        allows = rule.action == "allow" and rule.permits(facts)
        if decides_all or allows:
            return allows
        decided_types |= rule.license_types or frozenset()
    return policy.default_action == "allow" and facts.permission is None


def with_license(facts: Facts, license_: HeldLicense) -> Facts:
    """Return the facts with this licence added before all others."""
    types = facts.license_types if license_.license_type is None else (license_.license_type, *facts.license_types)
    return replace(facts, license_types=types, has_valid_license=True, licenses=(license_, *facts.licenses))


def decisive_license(reason: str | None, rule: Rule | None, facts: Facts) -> HeldLicense | None:
    """Return the licence behind a decision; None for denials for lack of a licence."""
    if reason in WITHOUT_LICENSE:
        return None
    return license_behind(rule, facts)


def license_behind(rule: Rule | None, facts: Facts) -> HeldLicense | None:
    """Return the first valid licence of a type the rule accepts, or the first one if it accepts all."""
    for license_ in facts.licenses:
        if rule is None or rule.license_types is None or license_.license_type in rule.license_types:
            return license_
    return None
