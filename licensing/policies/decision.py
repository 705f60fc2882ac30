"""The decision: a policy and facts in, a value out. Pure: no ORM, no clock, no I/O (docs/reference/policies.md)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from analytics.wallets.units import ACCESS
from licensing.policies.facts import Facts, HeldLicense, Shortfall
from licensing.policies.modes import Mode
from licensing.policies.rules import Rule

MAX_TRACED_VALUES = 50
ENFORCE = Mode.ENFORCE.value  # what nearly all are: to look it up in its class takes as long as a rule


class Reason(StrEnum):
    """Why access was denied; exactly one for each denial. Each with its words for people."""

    words: str

    CONTENT_ARCHIVED = "content_archived", "the item was archived"
    NO_POLICY = "no_policy", "the item had no policy"
    HOST_NOT_ALLOWED = "host_not_allowed", "the asking key was not for that host"
    PERMISSION_NOT_GRANTED = "permission_not_granted", "the permission asked for was not granted"
    RATE_LIMIT_EXCEEDED = "rate_limit_exceeded", "the rule's rate limit was used up"
    CREDITS_EXHAUSTED = "credits_exhausted", "the credit in the wallet was used up"
    QUOTA_EXCEEDED = "quota_exceeded", "the quota of accesses was used up"
    LICENSE_EXPIRED = "license_expired", "the requester's licences had lapsed"
    NO_LICENSE = "no_license", "the requester had no valid licence"
    POLICY_DENIED = "policy_denied", "the policy denied it, although there was a valid licence"

    def __new__(cls, value: str, words: str = "") -> "Reason":
        reason = str.__new__(cls, value)
        reason._value_ = value
        reason.words = words
        return reason


# In the module for the same reason as ENFORCE.
NO_LICENSE, LICENSE_EXPIRED, POLICY_DENIED = Reason.NO_LICENSE, Reason.LICENSE_EXPIRED, Reason.POLICY_DENIED
WITHOUT_LICENSE = (NO_LICENSE, LICENSE_EXPIRED)  # the reasons of those who have no licence
UNPAID = (Reason.CREDITS_EXHAUSTED, Reason.QUOTA_EXCEEDED)  # the reasons of a wallet that does not cover an access
# The denials that a licence, or a larger one, would have turned into accesses.
UNMET_DEMAND = (
    Reason.NO_LICENSE,
    Reason.LICENSE_EXPIRED,
    Reason.PERMISSION_NOT_GRANTED,
    Reason.RATE_LIMIT_EXCEEDED,
    Reason.CREDITS_EXHAUSTED,
    Reason.QUOTA_EXCEEDED,
)


NextChange = Callable[[datetime], datetime | None]  # after a moment


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """A revision of a policy, its rules in the order in which they are tried. A draft has neither id nor version."""

    id: str | None
    version: int | None
    default_action: str
    rules: tuple[Rule, ...]
    mode: str = Mode.ENFORCE
    boundaries: tuple[datetime, ...] = ()  # the moments at which time alone may change a decision, in order
    schedules: tuple[NextChange, ...] = ()  # and the conditions that make them again and again

    @classmethod
    def of(
        cls,
        id: str | None,
        version: int | None,
        default_action: str,
        rules: tuple[Rule, ...],
        mode: str = Mode.ENFORCE,
    ) -> "CompiledPolicy":
        conditions = [condition for rule in rules for condition in rule.conditions]
        moments = {moment for condition in conditions for moment in condition.moments}
        schedules = tuple(one.next_change for one in conditions if one.next_change is not None)
        ordered = tuple(sorted(rules, key=precedence))
        return cls(id, version, default_action, ordered, mode, tuple(sorted(moments)), schedules)

    @property
    def looks_at_the_time(self) -> bool:
        return bool(self.boundaries or self.schedules)

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        return 500 + sum(rule.size for rule in self.rules)


class Decision(Struct, frozen=True, gc=False):
    """`rule` is the one that matched; None where none did, and the default action or an earlier step decided.

    `observed` is None where decisions are enforced. Where they are observed it is the reason for which this one, which
    is allowed, would have been denied, or empty if it would have been allowed.
    """

    allowed: bool
    reason: Reason | None = None
    rule: Rule | None = None
    permissions: tuple[str, ...] = ()
    license: HeldLicense | None = None
    observed: str | None = None
    waived: bool = False  # nothing is charged, whatever the licence says

    @property
    def refuses(self) -> bool:
        """Whether it is a denial, or would be one if it were enforced."""
        return not self.allowed or bool(self.observed)

    @property
    def price(self) -> tuple[int, str] | None:
        """What this access costs by its licence: millionths, and of which currency. None if it costs nothing."""
        held = self.license
        if held is None or not held.access_amount or held.access_currency is None or not self.is_charged:
            return None
        return held.access_amount, held.access_currency

    @property
    def is_charged(self) -> bool:
        """Whether licences and wallets are charged. Denied, waived and observed decisions are free."""
        return self.allowed and self.observed is None and not self.waived


def precedence(rule: Rule) -> tuple[bool, int, bool, int]:
    """Ascending priority, a missing one last; of equals a deny before an allow, then the order of the list."""
    return rule.priority is None, rule.priority or 0, rule.action != "deny", rule.index


def decide(policy: CompiledPolicy | None, facts: Facts) -> Decision:
    """May this requester have this item, as far as that is enforced?"""
    if facts.mode == ENFORCE and (policy is None or policy.mode == ENFORCE):
        return judge(policy, facts)
    mode = mode_of(policy, facts)
    if mode == Mode.DISABLED:
        return Decision(True)
    decision = judge(policy, facts)
    return decision if mode == Mode.ENFORCE else observed(decision)


def mode_of(policy: CompiledPolicy | None, facts: Facts) -> str:
    """The more lenient of the site's mode and the policy's, which has no say in what is archived."""
    if policy is None or policy.mode == Mode.ENFORCE or facts.archived:
        return facts.mode
    return Mode.DISABLED if Mode.DISABLED in (policy.mode, facts.mode) else Mode.OBSERVE


def observed(decision: Decision) -> Decision:
    """A decision that is only watched: allowed, with what it would have been."""
    if decision.allowed:
        return replace(decision, observed="")
    return replace(decision, allowed=True, reason=None, permissions=(), observed=decision.reason)


def limited(decision: Decision) -> Decision:
    """The decision, its rule's limit being used up."""
    if decision.observed is not None:
        return replace(decision, permissions=(), observed=Reason.RATE_LIMIT_EXCEEDED)
    return replace(decision, allowed=False, reason=Reason.RATE_LIMIT_EXCEEDED, permissions=())


def unpaid(decision: Decision, shortfall: Shortfall) -> Decision:
    """The decision, a wallet not covering what it costs."""
    reason = Reason.QUOTA_EXCEEDED if shortfall.unit == ACCESS else Reason.CREDITS_EXHAUSTED
    return replace(decision, allowed=False, reason=reason, permissions=())


def falls_short(decision: Decision, shortfall: Shortfall) -> bool:
    """Whether a wallet that had no more than that denies the decision."""
    if shortfall.unit == ACCESS:
        return counts_as_access(decision)
    amount, currency = decision.price or (0, "")
    return currency == shortfall.unit and amount > shortfall.available


def counts_as_access(decision: Decision) -> bool:
    """Whether a quota of accesses is charged: for each that a licence of the service allows."""
    held = decision.license
    return held is not None and held.id is not None and decision.is_charged


def judge(policy: CompiledPolicy | None, facts: Facts) -> Decision:
    """What the policy says, in whatever mode. A rule's rate limit is counted last, not here."""
    if facts.archived:
        return Decision(False, Reason.CONTENT_ARCHIVED)
    if policy is None:
        if facts.is_open:
            return Decision(True)
        return Decision(False, Reason.HOST_NOT_ALLOWED if facts.is_elsewhere else Reason.NO_POLICY)
    for rule in policy.rules:
        for test in rule.tests:
            if not test(facts):
                break
        else:
            if rule.action == "deny":
                return denial(reason_of_denial(facts), rule, facts)
            return granted(rule, facts)
    if policy.default_action != "allow":
        return denial(reason_of_denial(facts), None, facts)
    if facts.permission is not None:
        return denial(Reason.PERMISSION_NOT_GRANTED, None, facts)
    return Decision(True, license=license_behind(None, facts), waived=facts.waived)


def grants(rule: Rule, facts: Facts) -> bool:
    """Return whether the rule grants the requested permission."""
    if facts.identified_by is None:
        return rule.grants(facts.permission)
    return rule.grants_at_edge(facts.permission)


def granted_permissions(rule: Rule, facts: Facts) -> tuple[str, ...]:
    return rule.permissions if facts.identified_by is None else rule.permissions_at_edge


def granted(rule: Rule, facts: Facts) -> Decision:
    """What a rule that allows comes to. Without a licence one with a price has to be paid for
    (licensing.policies.offers)."""
    if not grants(rule, facts):
        return denial(Reason.PERMISSION_NOT_GRANTED, rule, facts)
    held = license_behind(rule, facts)
    if rule.price is not None and held is None:
        return denial(reason_of_denial(facts), rule, facts)
    return Decision(True, None, rule, granted_permissions(rule, facts), held, None, facts.waived)


def denial(reason: Reason, rule: Rule | None, facts: Facts) -> Decision:
    return Decision(False, reason, rule, license=license_of(reason, rule, facts))


def reason_of_denial(facts: Facts) -> Reason:
    if facts.has_valid_license:
        return POLICY_DENIED
    return LICENSE_EXPIRED if facts.has_lapsed_license else NO_LICENSE


def license_of(reason: str | None, rule: Rule | None, facts: Facts) -> HeldLicense | None:
    """The licence behind a decision; None for a denial whose reason is that there is none."""
    if reason in WITHOUT_LICENSE:
        return None
    return license_behind(rule, facts)


def license_behind(rule: Rule | None, facts: Facts) -> HeldLicense | None:
    """The licence that counts: the first of the type that the rule wants, or the first if it wants none."""
    for held in facts.licenses:
        if rule is None or rule.license_types is None or held.license_type in rule.license_types:
            return held
    return None


def shortened(values: object) -> object:
    """The first of many values: a trace is to be read, and a batch has a hundred."""
    if isinstance(values, dict):
        return {name: shortened(value) for name, value in values.items()}
    return values[:MAX_TRACED_VALUES] if isinstance(values, list) else values


def trace(policy: CompiledPolicy | None, facts: Facts) -> list[dict[str, object]]:
    """For each rule in the order tried: whether it matched and, if not, which condition failed and on what.

    The first that matched is `decisive`, unless the decision was made before any rule was tried. If it allows, but not
    the permission that was asked for, that is what failed: wanted is the permission, and saw are those that it grants.
    """
    if policy is None or facts.archived or mode_of(policy, facts) == Mode.DISABLED:
        return []
    steps: list[dict[str, object]] = []
    decided = False
    for rule in policy.rules:
        failing = rule.first_failing(facts)
        is_decisive = failing is None and not decided
        failed: dict[str, object] | None = None
        if failing is not None:
            wanted, saw = failing.wanted, failing.saw(facts)
            failed = {"condition": failing.name, "wanted": shortened(wanted), "saw": shortened(saw)}
        elif is_decisive and rule.action == "allow" and not grants(rule, facts):
            granted = shortened(list(rule.permissions))
            failed = {"condition": "permissions", "wanted": facts.permission, "saw": granted}
        steps.append(
            {
                "index": rule.index,
                "priority": rule.priority,
                "action": rule.action,
                "matched": failing is None,
                "decisive": is_decisive,
                "failed": failed,
            }
        )
        decided = decided or is_decisive
    return steps
