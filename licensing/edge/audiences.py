"""Describe in one sentence what a site's policies let each audience do: readers, and classes of crawlers."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from kit.values.currencies import in_full
from kit.values.decimals import from_millionths
from licensing.crawler_classes import AUDIENCES
from licensing.edge.publishing.promises import ANY_TIME, always_allows, opening_rules, quote_price
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import is_open_to_licensees
from licensing.policies.facts import Facts
from licensing.sites.identification import Identification

MAX_PATTERNS = 5  # named per outcome


def sentences(rules: Sequence[tuple[str, CompiledPolicy | None]], *, denies_unknown: bool) -> list[tuple[str, str]]:
    """Return each audience with its sentence. `rules` are the site's patterns with their policies."""
    return [
        (name, f"{name} {outcomes(rules, use, denies_unknown=denies_unknown)}.") for use, name in AUDIENCES.items()
    ]


def outcomes(rules: Sequence[tuple[str, CompiledPolicy | None]], use: str, *, denies_unknown: bool) -> str:
    patterns: dict[str, list[str]] = defaultdict(list)
    for pattern, policy in rules:
        patterns[phrase_outcome(policy, use)].append(pattern)
    others = "are refused at" if denies_unknown else "may read"
    rest = [] if any(pattern in ("/", "/*") for pattern, _ in rules) else [f"{others} all other pages"]
    return join_words([*(phrase.format(name_patterns(those)) for phrase, those in patterns.items()), *rest])


def phrase_outcome(policy: CompiledPolicy | None, use: str) -> str:
    """Return the phrase for what the policy lets everybody do with a page; `{}` stands for the pages."""
    if policy is None:
        return "get the answer for unknown pages at {}"
    if always_allows(policy, use):  # they are verified, so what readers may do does not matter
        return "may use {}"
    if always_allows(policy, use, within_limits=True):
        return "may use {} within a rate limit"
    price = quote_price(policy, use)
    if price is not None:
        return f"pay {in_full(from_millionths(price.amount), price.currency)} for each access to {{}}"
    if is_open_to_licensees(policy, Facts(ANY_TIME, "anonymous", use, identified_by=Identification.ADDRESS)):
        return "need a licence for {}"
    return "may use {} under conditions" if any(opening_rules(policy, use)) else "are refused at {}"


def name_patterns(patterns: Sequence[str]) -> str:
    words = list(patterns[:MAX_PATTERNS])
    if len(patterns) > MAX_PATTERNS:
        words.append(f"{len(patterns) - MAX_PATTERNS:,} other patterns")
    return join_words(words)


def join_words(words: Iterable[str]) -> str:
    *firsts, last = words
    return f"{', '.join(firsts)} and {last}" if firsts else last
