"""Derives the published terms of a site from its policies, pattern by pattern. Uses neither the ORM nor HTTP.

Crawlers choose the longest published URL that matches a page. The service chooses an item, then the longest pattern
that matches the path. Where these choices differ, the published terms are narrowed to what both allow.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kit.values.canonical_pages import RegisteredPage
from kit.values.paths import read
from kit.values.same_page_setting import INDEX, SamePage
from kit.values.urls import normalise
from licensing.crawler_classes import KEPT_OUT, USES
from licensing.edge.publishing.overlaps import Overlaps, at_most
from licensing.edge.publishing.promises import Promise
from licensing.edge.publishing.published_patterns import RuleTerms, build_rule_terms, drop_overridden_rules, quoted
from licensing.edge.publishing.published_terms import PolicyTerms, Terms, TermsTable
from licensing.policies.compiled import CompiledPolicy
from licensing.sites.patterns import PatternIndex

MAX_ITEM_TERMS = 1_000  # items published with terms of their own
MAX_COMPARISONS = 5_000_000  # of items' paths with parts of patterns: about a second
NOTHING: Promise = frozenset()


class Item(Struct, frozen=True):
    """A registered item, its page, and the policy that decides it; None if it is archived or has none."""

    source: str
    page: RegisteredPage
    policy: CompiledPolicy | None


class PageOfItems(Struct):
    """The items at one path: `plain` is the one without a query."""

    path: str
    plain: Terms | None = None
    queried: list[Terms] = msgspec.field(default_factory=list)


def terms_of(
    rules: Sequence[tuple[str, CompiledPolicy | None]],
    items: Iterable[Item] = (),
    same: SamePage | None = None,
    *,
    denies_unknown: bool = False,
) -> list[Terms]:
    """Return the terms of a site, the longest URL first.

    `items` are the registered items of the host; the last one at a page counts. Each item whose terms differ from its
    pattern's has its own entries; other entries do not change. `denies_unknown`: pages that match no pattern are
    denied.

    Takes time linear in the rules, and in the items. If items and rules together need more than MAX_COMPARISONS, the
    patterns promise nothing.
    """
    unknown = Terms("") if denies_unknown else unsettled("")
    policies = PolicyTerms()
    ranked_rules = drop_overridden_rules(
        [build_rule_terms(place, pattern, policy, policies, unknown) for place, (pattern, policy) in enumerate(rules)]
    )
    table = TermsTable([rule.terms for rule in ranked_rules])
    conflicts = ItemConflicts(ranked_rules, table, same)
    entries: list[Terms] = []
    listed = 0  # pages
    queried = 0  # items with a query
    for page in pages_of_items(items, policies):
        matching = conflicts.matching(page.path)
        if conflicts.are_too_many:
            break
        if not differs(page, matching, table):
            continue
        conflicts.add(page, is_listed=listed < MAX_ITEM_TERMS)
        if listed < MAX_ITEM_TERMS:
            listed += 1
            entries += entries_of(page, matching, unknown, same)
            if same is None and queried < MAX_ITEM_TERMS:
                by_query = list(islice(entries_by_query(page), MAX_ITEM_TERMS - queried))
                queried += len(by_query)
                entries += by_query
    covers_every_page = any(rule.pattern.matches_every_path for rule in ranked_rules)
    if denies_unknown and not covers_every_page:
        entries.append(Terms("/"))
    if conflicts.are_too_many:
        entries += [unsettled(url) for rule in ranked_rules if rule.is_published for url in rule.urls]
    else:
        entries += entries_of_rules(ranked_rules, table, conflicts, None if covers_every_page else unknown)
    by_url: dict[str, Terms] = {}
    for entry in entries:  # an item's entry replaces that of a pattern for its page alone
        by_url.setdefault(entry.url, entry)
    return sorted(by_url.values(), key=lambda entry: (-len(entry.url), entry.url))


def entries_of_rules(
    rules: Sequence[RuleTerms], table: TermsTable, conflicts: "ItemConflicts", beyond: Terms | None
) -> Iterator[Terms]:
    """Yield the entries of the patterns. `beyond` are the terms of pages that match none, if there are such pages."""
    overlaps = Overlaps([rule.pattern for rule in rules])
    preferred = at_most([rule.rank for rule in rules])
    not_longer = at_most([rule.length for rule in rules])
    not_longer_with_query = at_most([rule.queried_length for rule in rules])
    further = 0 if beyond is None else table.number(beyond)
    for place, rule in enumerate(rules):
        if not rule.is_published:
            continue
        # Crawlers may choose this pattern for pages that the service decides by another one.
        hidden = preferred[place] & (not_longer[place] | not_longer_with_query[place]) & ~(1 << place)
        against = overlaps.with_pattern(place, hidden) | conflicts.of_rules[place]
        terms = table.intersect(rule.terms, against)
        guards = rule.guards
        if guards is None:
            terms, guards = replace(terms, uses=frozenset(), prices={}), ()
        yield from (replace(terms, url=url) for url in rule.urls)
        for number, guard in enumerate(guards):
            behind = overlaps.with_beginning(place, guard.parts) | further | conflicts.of_guards[place][number]
            shared = table.intersect(terms, behind)
            if not shared.states_as_much_as(terms):
                yield unsettled(guard.url, shared.refused)


def unsettled(url: str, refused: Promise = NOTHING) -> Terms:
    """Return terms that promise nothing, for pages that several policies may decide."""
    return Terms(url, open_to_some=frozenset(USES) - refused, reachable=KEPT_OUT)


# --- Items -----------------------------------------------------------------------------------------------------------


def pages_of_items(items: Iterable[Item], policies: PolicyTerms) -> Iterable[PageOfItems]:
    pages: dict[str, PageOfItems] = {}
    for item in items:
        page = pages.setdefault(item.page.path, PageOfItems(item.page.path))
        terms = replace(policies.get(item.policy), item=item.source)
        if item.page.parameters:
            page.queried.append(terms)
        else:
            page.plain = terms
    return pages.values()


def differs(page: PageOfItems, matching: Sequence[RuleTerms], table: TermsTable) -> bool:
    """Whether the page's items have other terms than its pattern. Unmentioned pages are not licensed."""
    own = table.numbers(terms_at(page))
    read_for_page = [rule for rule in matching if rule.is_published]
    if not read_for_page:
        return own != table.number(Terms(""))
    for lengths in ([rule.length for rule in read_for_page], [rule.queried_length for rule in read_for_page]):
        longest = max(lengths)
        chosen = [rule.terms for rule, length in zip(read_for_page, lengths, strict=True) if length == longest]
        if (own | table.numbers(chosen)).bit_count() > 1:
            return True
    return False


class ItemConflicts:
    """Finds the terms of items that crawlers may overlook, as sets of the table's numbers.

    `of_rules` are those for which crawlers may read a rule's pattern, `of_guards` those for which they may read each
    of its guards.
    """

    def __init__(self, rules: Sequence[RuleTerms], table: TermsTable, same: SamePage | None) -> None:
        self.rules, self.table, self.same = rules, table, same
        self.index = PatternIndex([rule.pattern for rule in rules])
        self.of_rules = [0] * len(rules)
        self.of_guards = [[0] * len(rule.guards or ()) for rule in rules]
        self.comparisons = 0

    @property
    def are_too_many(self) -> bool:
        return self.comparisons > MAX_COMPARISONS

    def leading_parts(self, path: str) -> Iterator[tuple[int, int]]:
        """Yield the places of the rules whose patterns begin like the path, with the number of parts that it has."""
        for place in self.index.candidates(path):
            pattern = self.rules[place].pattern
            self.comparisons += len(pattern.parts)
            yield place, pattern.leading_parts(path)

    def matching(self, path: str) -> list[RuleTerms]:
        return [self.rules[place] for place, parts in self.leading_parts(path) if self.has_all(place, parts)]

    def has_all(self, place: int, parts: int) -> bool:
        return parts == len(self.rules[place].pattern.parts)

    def add(self, page: PageOfItems, *, is_listed: bool) -> None:
        """Add a page, which has entries of its own if `is_listed`."""
        numbers = self.table.numbers(terms_at(page))
        length = len(quoted(page.path))
        for path in spellings(page.path, self.same):
            for place, parts in self.leading_parts(path):
                rule = self.rules[place]
                if self.has_all(place, parts) and self.is_overlooked(rule, page, length, is_listed=is_listed):
                    self.of_rules[place] |= numbers
                for number, guard in enumerate(rule.guards or ()):
                    if parts >= guard.parts and (not is_listed or len(guard.url) >= length + 2):
                        self.of_guards[place][number] |= numbers

    def is_overlooked(self, rule: RuleTerms, page: PageOfItems, length: int, *, is_listed: bool) -> bool:
        """Whether crawlers may read the rule's pattern, which matches the page, and not the page's own entries."""
        if not is_listed:
            return True
        if page.plain is not None and rule.urls[0] == f"{quoted(page.path)}$":
            return False  # replaced by the page's entries
        return rule.length >= length + 1 or rule.queried_length >= length + 2


def terms_at(page: PageOfItems) -> list[Terms]:
    return [*([page.plain] if page.plain is not None else []), *page.queried]


def entries_of(
    page: PageOfItems, matching: Sequence[RuleTerms], unknown: Terms, same: SamePage | None
) -> Iterator[Terms]:
    """Yield the entries of the page's items.

    A page with a query has the terms that all items at its path share, because the service ignores the order of
    parameters and adds others, which documents cannot express.
    """
    decisive = min(matching, key=lambda rule: rule.rank, default=None)
    plain = page.plain or (decisive.terms if decisive is not None else unknown)
    with_query = plain.intersect(page.queried)
    if len(read(quoted(page.path))[0]) > 1:  # with another query, origins may read another page
        with_query = unsettled("")
    for path in spellings(page.path, same):
        if page.plain is not None:
            yield replace(plain, url=f"{quoted(path)}$")
        yield replace(with_query, url=f"{quoted(path)}?*", item=plain.item or page.queried[0].item)


def entries_by_query(page: PageOfItems) -> Iterator[Terms]:
    """Yield an entry for the very URL of each item with a query; of several items at one URL the newest decides."""
    entries = {}
    for terms in page.queried:
        path, _, query = normalise(terms.item or "").partition("://")[2].partition("/")[2].partition("?")
        if not {"*", "$"} & set(query):
            url = f"/{path.replace('*', '%2A').replace('$', '%24')}?{query}$"
            entries[url] = replace(terms, url=url)
    yield from entries.values()


def spellings(path: str, same: SamePage | None) -> list[str]:
    """Return the paths of the page under the setting SAME_PAGE."""
    paths = [path]
    if same is not None and same.slash and path != "/":
        paths.append(f"{path}/")
    if same is not None and same.index:
        paths += [f"{folder}{INDEX}" for folder in paths if folder.endswith("/")]
    return paths
