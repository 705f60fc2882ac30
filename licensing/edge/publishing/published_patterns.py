"""A site's patterns as documents publish them. Uses neither the ORM nor HTTP."""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

from msgspec import Struct

from kit.values.paths import PATH_CHARACTERS
from licensing.edge.publishing.published_terms import PolicyTerms, Terms
from licensing.policies.compiled import CompiledPolicy
from licensing.sites.patterns import Pattern, compile_pattern

MAX_GAPS = 3  # wildcards of a pattern whose matches in queries are published separately
LITERAL = "".join(set(PATH_CHARACTERS) - set("*$"))  # documents read * and $ as wildcard and end


class Guard(NamedTuple):
    """A URL that keeps crawlers from matching the rest of a pattern in a query. `parts` are those before the query."""

    url: str
    parts: int


class RuleTerms(Struct, frozen=True):
    """A site's rule: a pattern with the terms of its policy.

    The smallest `rank` decides a page that several patterns match.
    `length` and `queried_length` are those of the published URLs that match a page without and with a query.
    `guards` are None if there would be too many.
    """

    pattern: Pattern
    terms: Terms
    rank: tuple[int, int]
    urls: tuple[str, ...]
    guards: tuple[Guard, ...] | None
    is_published: bool = True

    @property
    def length(self) -> int:
        return len(self.urls[0])

    @property
    def queried_length(self) -> int:
        return len(self.urls[-1])


def build_rule_terms(
    place: int, pattern: str, policy: CompiledPolicy | None, policies: PolicyTerms, unknown: Terms
) -> RuleTerms:
    """Return the rule. Pages of a pattern without a policy have the terms of unknown pages. If such a pattern matches
    every page and unknown pages are open, it is not published, because no policy says anything about the whole host.
    """
    matcher = compile_pattern(pattern)
    is_published = policy is not None or not unknown.open_to_some or not matcher.matches_every_path
    terms = policies.get(policy) if policy is not None else unknown
    urls = tuple(pattern_spellings(pattern))
    return RuleTerms(matcher, terms, (-matcher.length, place), urls, query_guards(matcher), is_published)


def drop_overridden_rules(rules: Sequence[RuleTerms]) -> list[RuleTerms]:
    """Return the rules that decide some page: none that is less specific than one for every page."""
    last = min((rule.rank for rule in rules if rule.pattern.matches_every_path), default=None)
    return [rule for rule in rules if last is None or rule.rank <= last]


def pattern_spellings(pattern: str) -> list[str]:
    """Return the pattern as documents write it.

    There patterns include the query, so a final `$` becomes two patterns. Others end with `*`, which changes nothing:
    some parsers take a URL without it for a single page. They take `/` for every page.
    """
    matcher = compile_pattern(pattern)
    text = "*".join(map(quoted, matcher.parts))
    if matcher.is_anchored:
        return [f"{text}$", f"{text}?*"]
    return [text if text == "/" or text.endswith("*") else f"{text}*"]


def quoted(path: str) -> str:
    return quote(path, safe=LITERAL)


def query_guards(pattern: Pattern) -> tuple[Guard, ...] | None:
    """Return URLs that keep crawlers from matching the rest of the pattern in a query; None if there are too many.

    `/*.pdf$` also matches `/premium/a?file=.pdf`. The longer `/*?*.pdf$` gives such pages no terms.
    """
    parts = list(map(quoted, pattern.parts))
    gaps = [place for place in range(1, len(parts)) if any(parts[place:])]
    if len(gaps) > MAX_GAPS:
        return None
    ends = ("$", "?*") if pattern.is_anchored else ("",)
    return tuple(
        Guard(f"{'*'.join(parts[:place])}*?*{'*'.join(parts[place:])}{end}", place) for place in gaps for end in ends
    )
