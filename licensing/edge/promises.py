"""Derives the uses that published documents may promise to everybody. Uses neither the ORM nor HTTP.

Documents cannot express everything that policies can. Conditions on requester, place, time and frequency are left out,
as are uses that some item of the host refuses: a document may be stricter than the service, never more permissive.
"""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from kit.values.paths import PATH_CHARACTERS
from licensing.policies.decision import CompiledPolicy
from licensing.policies.rules import Rule
from licensing.sites.patterns import compiled

READ = "read"
USES = ("search", "ai_input", "ai_training")
MINING = frozenset({"ai_input", "ai_training"})  # the uses that count as text and data mining
CONSENT, PAYMENT = "obtainConsent", "compensate"  # ODRL duties
SETTLED = frozenset({"default", "permission"})  # conditions that depend on nothing but the use

Promise = frozenset[str]  # a subset of USES


class Terms(Struct, frozen=True):
    """The uses promised for pages that match `url`, a pattern of RFC 9309 for path and query.

    `duties` are the ODRL duties under which text and data mining is possible; empty if it is not.
    """

    url: str
    uses: Promise
    duties: tuple[str, ...] = ()


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

    Registered items override patterns at any URL, so a use that one item refuses is promised nowhere. Crawlers rank
    patterns of equal length differently, so those promise only what all of them allow.
    """
    everywhere = frozenset(USES)
    for policy in of_items:
        everywhere &= promised(policy)
    found = [
        Terms(url, promised(policy) & everywhere, duties_of(policy))
        for pattern, policy in rules
        for url in spelled(pattern)
    ]
    shared: dict[int, Promise] = {}
    for one in found:
        shared[len(one.url)] = shared.get(len(one.url), one.uses) & one.uses
    found.sort(key=lambda one: (-len(one.url), one.url))
    return [replace(one, uses=shared[len(one.url)]) for one in found]


def spelled(pattern: str) -> list[str]:
    """Return the pattern as documents write it.

    There patterns include the query, so a final `$` becomes two patterns.
    """
    known = compiled(pattern)
    text = "*".join(quote(part, safe=PATH_CHARACTERS) for part in known.parts)
    return [f"{text}$", f"{text}?*"] if known.is_anchored else [text]
