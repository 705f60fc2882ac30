"""Decide as docs/reference/{policies,licences,edge}.md say, without any product code."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from tests.decisions.naive import holds, order_of_trial

Price = tuple[Decimal, str]


@dataclass(frozen=True)
class Verdict:
    """An expected decision. Whether `limit`, the rule's rate limit, is used up depends on others' requests."""

    allowed: bool
    reason: str | None = None
    rule: int | None = None
    permissions: tuple[str, ...] = ()
    license: str | None = None  # an id, "caller" or "offer"
    tier: str | None = None  # its type
    charge: Price | None = None
    limit: tuple[int, str] | None = None
    is_observed: bool = False  # allowed only because of observe mode; `observed` is the reason for denial
    observed: str | None = None
    offers: tuple[Price, ...] = ()  # what would open it
    is_for_licensees: bool = False  # whether a licence would
    policy: str | None = None
    version: int | None = None
    decided_as: str | None = None  # the requester whose limit counts
    spends: tuple[tuple[str, Decimal], ...] = ()  # amounts by wallet, if the wallets cover all of them
    lacking: str | None = None  # the wallet that does not
    would_charge: Price | None = None  # if an observed decision were enforced
    would_spend: tuple[tuple[str, Decimal], ...] = ()  # likewise

    @property
    def used_up(self) -> "Verdict":
        if self.is_observed:
            return replace(self, permissions=(), charge=None, observed="rate_limit_exceeded")
        return replace(self, allowed=False, reason="rate_limit_exceeded", permissions=(), charge=None, spends=())

    def unpaid(self, wallet: str, reason: str) -> "Verdict":
        """Return the verdict if that wallet cannot pay; then it counts towards no limit either."""
        if self.is_observed:
            return replace(self, permissions=(), limit=None, observed=reason, lacking=wallet)
        return replace(self, allowed=False, reason=reason, permissions=(), charge=None, limit=None, lacking=wallet)


@dataclass(frozen=True)
class Term:
    """A requester's licence that covers the item; `id` None is a caller-asserted licence."""

    id: str | None
    type: str | None
    price: Price | None = None


@dataclass(frozen=True)
class Facts:
    requester: str
    at: datetime
    permission: str | None
    ip: str | None
    item: Mapping[str, Any]
    types: frozenset[str]
    is_licensed: bool
    has_lapsed: bool
    terms: Sequence[Term]
    unpaid: "Facts | None" = None  # the facts of the payer

    @property
    def known(self) -> dict[str, Any]:
        """Return the facts as tests.decisions.naive names them."""
        return {
            "now": self.at,
            "requesterId": self.requester,
            "permission": self.permission,
            "ip": self.ip,
            "contentType": self.item.get("type"),
            "tags": self.item.get("tags", ()),
            "hasValidLicense": self.is_licensed,
        }


def values(wanted: Any) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]


def condition_holds(name: str, wanted: Any, facts: Facts) -> bool:
    """Return whether a condition holds; a requester may hold licences of several types."""
    if name == "licenseType":
        return bool(facts.types & set(values(wanted)))
    return holds(name, wanted, facts.known)


def in_order(rules: Sequence[Mapping[str, Any]]) -> list[tuple[int, Mapping[str, Any]]]:
    return [(index, rules[index]) for index in order_of_trial([dict(rule) for rule in rules])]


def price_of(rule: Mapping[str, Any]) -> Price | None:
    given = rule.get("pricePerAccess")
    return None if given is None else (Decimal(str(given["amount"])), given["currency"])


def held_for(rule: Mapping[str, Any] | None, facts: Facts) -> Term | None:
    """Return the licence that counts: the first of a type that the rule requires, or of any type if none is."""
    wanted = values(rule["conditions"].get("licenseType", [])) if rule else []
    return next((term for term in facts.terms if not wanted or term.type in wanted), None)


def behind(held: Term | None) -> tuple[str | None, str | None]:
    """Return id and type of the licence behind a decision."""
    return (held.id or "caller", held.type) if held else (None, None)


def denial(
    policy: Mapping[str, Any] | None,
    facts: Facts,
    index: int | None,
    rule: Mapping[str, Any] | None,
    reason: str | None = None,
) -> Verdict:
    if reason is None and not facts.is_licensed and is_for_licensees(policy, facts):
        return Verdict(False, "license_expired" if facts.has_lapsed else "no_license", index)
    return Verdict(False, reason or "policy_denied", index, (), *behind(held_for(rule, facts)))


def matches(rule: Mapping[str, Any], facts: Facts) -> bool:
    """Whether the rule matches. Rules that let licence holders in for free do not apply to payers."""
    known = [facts]
    if facts.unpaid is not None and rule["action"] == "allow":
        known.append(facts.unpaid)
    found = [all(condition_holds(name, wanted, one) for name, wanted in rule["conditions"].items()) for one in known]
    return any(found) if price_of(rule) is not None else all(found)


def requested_permission(policy: Mapping[str, Any], facts: Facts) -> str | None:
    """Return the permission that is decided: a policy that nowhere names `ai_index` decides it as `ai_input`."""
    lists = [rule.get("permissions", []) for rule in policy["rules"]]
    lists += [values(rule["conditions"].get("permission", [])) for rule in policy["rules"]]
    is_named = any("ai_index" in names for names in lists)
    return "ai_input" if facts.permission == "ai_index" and not is_named else facts.permission


def judge(policy: Mapping[str, Any] | None, facts: Facts) -> Verdict:  # noqa: PLR0911 - step by step, as documented
    if facts.item.get("status") == "archived":
        return Verdict(False, "content_archived")
    if policy is None:
        return Verdict(False, "no_policy")
    facts = replace(facts, permission=requested_permission(policy, facts))
    for index, rule in in_order(policy["rules"]):
        if not matches(rule, facts):
            continue
        if rule["action"] == "deny":
            return denial(policy, facts, index, rule)
        granted = tuple(rule.get("permissions", ()))
        if facts.permission is not None and not {facts.permission, "full_access"} & set(granted):
            return denial(policy, facts, index, rule, "permission_not_granted")
        held = held_for(rule, facts)
        if price_of(rule) is not None and held is None:
            return denial(policy, facts, index, rule)
        limit = rule.get("rateLimit")
        counted = (limit["requests"], limit["period"]) if limit else None
        return Verdict(True, None, index, granted, *behind(held), held.price if held else None, counted)
    if policy.get("defaultAction", "deny") == "deny":
        return denial(policy, facts, None, None)
    if facts.permission is not None:
        return denial(policy, facts, None, None, "permission_not_granted")
    held = held_for(None, facts)
    return Verdict(True, None, None, (), *behind(held), held.price if held else None)


def offers(policy: Mapping[str, Any] | None, facts: Facts) -> list[tuple[str | None, Price]]:
    """Return licence types and prices with which the access would be allowed."""
    found = []
    for index, rule in in_order(policy["rules"]) if policy else ():
        price = price_of(rule)
        if price is None or rule["action"] != "allow":
            continue
        kind = next(iter(values(rule["conditions"].get("licenseType", []))), None)
        verdict = judge(policy, as_payer(facts, kind, price))
        if verdict.allowed and verdict.rule == index and verdict.license == "offer":
            found.append((kind, price))
    return found


def as_payer(facts: Facts, kind: str | None, price: Price) -> Facts:
    types = facts.types | ({kind} if kind else set())
    return replace(
        facts, types=types, is_licensed=True, terms=[Term("offer", kind, price), *facts.terms], unpaid=facts
    )


def decide(
    policy: Mapping[str, Any] | None, facts: Facts, mode: str = "enforce", offered: Decimal | None = None
) -> Verdict:
    """Decide under the site's `mode`; `offered` is the visitor's maximum price in USD."""
    named = {"policy": policy["name"], "version": policy["version"]} if policy else {}
    if policy and facts.item.get("status") != "archived":  # the policy's mode does not apply to archived items
        mode = more_lenient(mode, policy.get("mode", "enforce"))
    if mode == "disabled":
        return Verdict(True, **named)
    verdict, bought = judge(policy, facts), offers(policy, facts)
    if not verdict.allowed and offered is not None:
        affordable = next(((k, p) for k, p in bought if p[1] == "USD" and p[0] <= offered), None)
        if affordable is not None:
            verdict = judge(policy, as_payer(facts, *affordable))
    verdict = replace(verdict, decided_as=facts.requester, **named)
    if mode == "observe":
        verdict = replace(verdict, is_observed=True)
        if not verdict.allowed:
            return replace(verdict, allowed=True, reason=None, permissions=(), observed=verdict.reason)
    if not verdict.allowed:
        found = tuple(price for _, price in bought)
        return replace(verdict, offers=found, is_for_licensees=is_for_licensees(policy, facts))
    return verdict


def is_for_licensees(policy: Mapping[str, Any] | None, facts: Facts) -> bool:
    """Whether a licence of any type would grant this requester access."""
    rules = policy["rules"] if policy else ()
    kinds = {None, *(kind for rule in rules for kind in values(rule["conditions"].get("licenseType", [])))}
    licensed = (replace(as_payer(facts, kind, (Decimal(0), "USD")), unpaid=None) for kind in kinds)
    return any(judge(policy, one).allowed for one in licensed)


def more_lenient(one: str, other: str) -> str:
    return max(one, other, key=("enforce", "observe", "disabled").index)


def terms_for(
    licenses: Iterable[tuple[str, Mapping[str, Any]]], item_id: str, item: Mapping[str, Any], at: datetime
) -> tuple[list[Term], bool, bool]:
    """Return the requester's valid licences for the item, whether any has begun, and whether any has lapsed."""
    begun = [
        (held["startsAt"], id_, held)
        for id_, held in licenses
        if held["startsAt"] <= at and covers(held, item_id, item)
        if held.get("revokedAt") is None or held["revokedAt"] >= held["startsAt"]
    ]
    lapsed = [id_ for _, id_, held in begun if held.get("revokedAt") is None and expired(held, at)]
    valid = [one for one in sorted(begun, key=lambda one: one[:2]) if one[2].get("revokedAt") is None]
    terms = [Term(id_, held["type"], held.get("perAccess")) for _, id_, held in valid if not expired(held, at)]
    return terms, bool(begun), bool(lapsed)


def expired(held: Mapping[str, Any], at: datetime) -> bool:
    return held.get("expiresAt") is not None and held["expiresAt"] <= at


def covers(held: Mapping[str, Any], item_id: str, item: Mapping[str, Any]) -> bool:
    scope = [held.get(name) or [] for name in ("contentIds", "tags", "policies")]
    if not any(scope):
        return True
    contents, tags, policies = scope
    return item_id in contents or bool(set(tags) & set(item.get("tags", ()))) or item.get("policy") in policies


def facts_of(
    requester: str,
    permission: str | None,
    ip: str | None,
    item_id: str,
    item: Mapping[str, Any],
    licenses: Iterable[tuple[str, Mapping[str, Any]]],
    at: datetime,
    asserted: tuple[str | None, bool] = (None, False),
) -> Facts:
    terms, is_known, has_lapsed = terms_for(licenses, item_id, item, at)
    if is_known:
        types = frozenset(term.type for term in terms if term.type)
        return Facts(requester, at, permission, ip, item, types, bool(terms), has_lapsed and not terms, terms)
    kind, is_valid = asserted
    said = [Term(None, kind)] if kind is not None or is_valid else []
    return Facts(requester, at, permission, ip, item, frozenset({kind} - {None}), is_valid, False, said)
