"""What may be promised of a site's pages to everybody: never more than the service allows. No ORM, no HTTP.

Published documents cannot say all that policies can. What depends on who asks, from where, when and how often is left
out, and so is what an item of the host would be refused: a document may be stricter than the service, never laxer.
"""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from licensing.policies.decision import CompiledPolicy
from licensing.policies.rules import Rule
from licensing.sites.patterns import PATH_CHARACTERS, compiled

READ = "read"
USES = ("search", "ai_input", "ai_training")
MINING = frozenset({"ai_input", "ai_training"})  # what text and data mining is among the uses
CONSENT, PAYMENT = "obtainConsent", "compensate"  # duties of ODRL
SETTLED = frozenset({"default", "permission"})  # conditions that the use alone settles

Promise = frozenset[str]  # of USES


class Terms(Struct, frozen=True):
    """The uses that pages whose address (with its query) matches `url`, a pattern of RFC 9309, are promised for;
    `duties` are what opens text and data mining to some, none where nothing does."""

    url: str
    uses: Promise
    duties: tuple[str, ...] = ()


def promised(policy: CompiledPolicy | None) -> Promise:
    """The uses that the policy allows whoever asks; a crawler that nobody can verify has to be let read, too."""
    if policy is None or not always_allows(policy, READ):
        return frozenset()
    return frozenset(use for use in USES if always_allows(policy, use))


def always_allows(policy: CompiledPolicy, permission: str) -> bool:
    """Whether everybody is allowed this at every time."""
    for rule in policy.rules:
        if not may_match(rule, permission):
            continue
        is_open = rule.action == "allow" and rule.rate_limit is None and rule.price is None
        if not is_open or not rule.grants(permission):
            return False
        if all(condition.name in SETTLED for condition in rule.conditions):
            return True
    return False  # defaultAction grants no permission by name


def may_match(rule: Rule, permission: str) -> bool:
    """Whether the rule is about that use at all."""
    wanted = [condition.wanted for condition in rule.conditions if condition.name == "permission"]
    return all(permission in (one if isinstance(one, list) else [one]) for one in wanted)


def allowed_to_some(policy: CompiledPolicy | None) -> Promise:
    """The uses that some rule allows to somebody."""
    return frozenset(use for use in USES if any(opening(policy, use)))


def opening(policy: CompiledPolicy | None, use: str) -> Iterator[Rule]:
    """The rules that allow that use to somebody."""
    for rule in policy.rules if policy is not None else ():
        if rule.action == "allow" and rule.grants(use) and may_match(rule, use):
            yield rule


def duties_of(policy: CompiledPolicy | None) -> tuple[str, ...]:
    """What opens mining to some who may not do it as everybody: a licence, and a payment where there is a price."""
    rules = [rule for use in sorted(MINING) for rule in opening(policy, use)]
    if not rules:
        return ()
    return (CONSENT, PAYMENT) if any(rule.price is not None for rule in rules) else (CONSENT,)


def terms_of(
    rules: Sequence[tuple[str, CompiledPolicy | None]], of_items: Iterable[CompiledPolicy | None]
) -> list[Terms]:
    """The terms of a site with these patterns, the most specific first.

    An item decides instead of a pattern, and may have any address: what one is refused for is promised of none.
    Readers of a document weigh patterns of equal length in different ways, so those promise what all of them do.
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
    """The pattern as documents have it, where the query is part of the address: a page's end is no end of that."""
    known = compiled(pattern)
    text = "*".join(quote(part, safe=PATH_CHARACTERS) for part in known.parts)
    return [f"{text}$", f"{text}?*"] if known.is_anchored else [text]
