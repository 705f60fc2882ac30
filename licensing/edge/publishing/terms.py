"""Derives the published terms of a site from its policies, pattern by pattern. Uses neither the ORM nor HTTP.

Crawlers choose the longest published URL that matches a page. The service chooses an item, then the longest pattern
that matches the path. Where these choices differ, the published terms are narrowed to what both allow.
"""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kit.values.pages import RegisteredPage
from kit.values.paths import PATH_CHARACTERS, read
from kit.values.same_page import INDEX, SamePage
from kit.values.urls import normalise
from licensing.edge.publishing.promises import USES, Promise
from licensing.edge.publishing.published_terms import Terms
from licensing.policies.decision import CompiledPolicy
from licensing.sites.patterns import Pattern, compiled, may_overlap

MAX_ITEM_TERMS = 1_000  # items published with terms of their own
MAX_GAPS = 3  # wildcards of a pattern whose matches in queries are published separately
NOTHING: Promise = frozenset()
LITERAL = "".join(set(PATH_CHARACTERS) - set("*$"))  # documents read * and $ as wildcard and end


class Item(Struct, frozen=True):
    """A registered item, its page, and the policy that decides it; None if it is archived or has none."""

    source: str
    page: RegisteredPage
    policy: CompiledPolicy | None


class Ruled(Struct, frozen=True):
    """A pattern with the terms of its policy. The smallest `rank` decides a page that several patterns match.

    `length` and `queried_length` are those of the published URLs that match a page without and with a query.
    """

    pattern: Pattern
    terms: Terms
    rank: tuple[int, int]
    urls: tuple[str, ...]
    is_published: bool = True

    @property
    def length(self) -> int:
        return len(self.urls[0])

    @property
    def queried_length(self) -> int:
        return len(self.urls[-1])

    def may_hide(self, other: "Ruled") -> bool:
        """Whether crawlers may choose this pattern for a page that the service decides by the other one."""
        if other.rank > self.rank or other is self:
            return False
        is_chosen = self.length >= other.length or self.queried_length >= other.queried_length
        return is_chosen and may_overlap(self.pattern, other.pattern)


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
    """
    unknown = Terms("") if denies_unknown else unsettled("")
    ruled = deciding([ruled_by(place, pattern, policy, unknown) for place, (pattern, policy) in enumerate(rules)])
    pages = pages_of_items(items, ruled)
    listed, rest = pages[:MAX_ITEM_TERMS], pages[MAX_ITEM_TERMS:]
    beyond = [] if any(one.pattern.matches_every_path for one in ruled) else [unknown]
    entries = [entry for page in listed for entry in entries_of(page, ruled, unknown, same)]
    hidden = {id(one): [*hidden_items(one, listed, same), *all_items(one, rest)] for one in ruled}
    if denies_unknown and beyond:
        entries.append(Terms("/"))
    for one in ruled:
        if one.is_published:
            terms = one.terms.intersect([other.terms for other in ruled if one.may_hide(other)])
            terms = terms.intersect(hidden[id(one)])
            guards = query_guards(one.pattern)
            if guards is None:
                terms, guards = replace(terms, uses=frozenset(), prices={}), []
            entries += [replace(terms, url=url) for url in one.urls]
            for url in guards:
                shared = terms.intersect([*beyond, *terms_behind(url, ruled, pages, len(listed), same)])
                if not shared.states_as_much_as(terms):
                    entries.append(unsettled(url, shared.refused))
    by_url: dict[str, Terms] = {}
    for entry in entries:  # an item's entry replaces that of a pattern for its page alone
        by_url.setdefault(entry.url, entry)
    return sorted(by_url.values(), key=lambda entry: (-len(entry.url), entry.url))


def unsettled(url: str, refused: Promise = NOTHING) -> Terms:
    """Return terms that promise nothing, for pages that several policies may decide."""
    return Terms(url, open_to_some=frozenset(USES) - refused)


# --- Patterns --------------------------------------------------------------------------------------------------------


def ruled_by(place: int, pattern: str, policy: CompiledPolicy | None, unknown: Terms) -> Ruled:
    """Return the rule. Pages of a pattern without a policy have the terms of unknown pages. If such a pattern matches
    every page and unknown pages are open, it is not published, because no policy says anything about the whole host.
    """
    known = compiled(pattern)
    is_published = policy is not None or not unknown.open_to_some or not known.matches_every_path
    terms = Terms.from_policy(policy) if policy is not None else unknown
    return Ruled(known, terms, (-known.length, place), tuple(pattern_spellings(pattern)), is_published)


def deciding(ruled: Sequence[Ruled]) -> list[Ruled]:
    """Return the rules that decide some page: none that is less specific than one for every page."""
    last = min((one.rank for one in ruled if one.pattern.matches_every_path), default=None)
    return [one for one in ruled if last is None or one.rank <= last]


def pattern_spellings(pattern: str) -> list[str]:
    """Return the pattern as documents write it.

    There patterns include the query, so a final `$` becomes two patterns.
    """
    known = compiled(pattern)
    text = "*".join(map(quoted, known.parts))
    return [f"{text}$", f"{text}?*"] if known.is_anchored else [text]


def quoted(path: str) -> str:
    return quote(path, safe=LITERAL)


def query_guards(pattern: Pattern) -> list[str] | None:
    """Return URLs that keep crawlers from matching the rest of the pattern in a query; None if there are too many.

    `/*.pdf$` also matches `/premium/a?file=.pdf`. The longer `/*?*.pdf$` gives such pages no terms.
    """
    parts = list(map(quoted, pattern.parts))
    gaps = [place for place in range(1, len(parts)) if any(parts[place:])]
    if len(gaps) > MAX_GAPS:
        return None
    ends = ("$", "?*") if pattern.is_anchored else ("",)
    return [f"{'*'.join(parts[:place])}*?*{'*'.join(parts[place:])}{end}" for place in gaps for end in ends]


def terms_behind(
    guard: str, ruled: Sequence[Ruled], pages: Sequence[PageOfItems], listed: int, same: SamePage | None
) -> Iterator[Terms]:
    """Yield the terms of the pages for which crawlers may choose a guard: of rules, and of items with shorter entries.

    The first `listed` of the pages have entries.
    """
    reach = compiled(guard.partition("?")[0])
    yield from (one.terms for one in ruled if may_overlap(reach, one.pattern))
    for place, page in enumerate(pages):
        is_preferred = place >= listed or len(guard) >= len(f"{quoted(page.path)}?*")
        if is_preferred and any(reach.matches(path) for path in spellings(page.path, same)):
            yield from terms_at(page)


# --- Items -----------------------------------------------------------------------------------------------------------


def pages_of_items(items: Iterable[Item], ruled: Sequence[Ruled]) -> list[PageOfItems]:
    """Return the pages with items whose terms differ from those that crawlers read for the page's pattern."""
    pages: dict[str, PageOfItems] = {}
    terms_by_policy: dict[int, Terms] = {}
    for item in items:
        terms = terms_by_policy.get(id(item.policy))
        if terms is None:
            terms = terms_by_policy[id(item.policy)] = Terms.from_policy(item.policy)
        page = pages.setdefault(item.page.path, PageOfItems(item.page.path))
        terms = replace(terms, item=item.source)
        if item.page.parameters:
            page.queried.append(terms)
        else:
            page.plain = terms
    return [page for page in pages.values() if differs(page, ruled)]


def differs(page: PageOfItems, ruled: Sequence[Ruled]) -> bool:
    """Whether the page's items have other terms than its pattern. Unmentioned pages are not licensed."""
    own = terms_at(page)
    matching = [one for one in ruled if one.pattern.matches(page.path)]
    read_for_page = [one for one in matching if one.is_published]
    for lengths in ([one.length for one in read_for_page], [one.queried_length for one in read_for_page]):
        chosen = [one for one, length in zip(read_for_page, lengths, strict=True) if length == max(lengths)]
        if any(not terms.is_like(one.terms) for terms in own for one in chosen):
            return True
    return not read_for_page and not all(terms.is_like(Terms("")) for terms in own)


def terms_at(page: PageOfItems) -> list[Terms]:
    return [*([page.plain] if page.plain is not None else []), *page.queried]


def entries_of(page: PageOfItems, ruled: Sequence[Ruled], unknown: Terms, same: SamePage | None) -> Iterator[Terms]:
    """Yield the entries of the page's items.

    A page with a query has the terms that all items at its path share, because the service ignores the order of
    parameters and adds others, which documents cannot express.
    """
    decisive = min((one for one in ruled if one.pattern.matches(page.path)), key=lambda one: one.rank, default=None)
    plain = page.plain or (decisive.terms if decisive is not None else unknown)
    with_query = plain.intersect(page.queried)
    if len(read(quoted(page.path))[0]) > 1:  # with another query, origins may read another page
        with_query = unsettled("")
    for path in spellings(page.path, same):
        if page.plain is not None:
            yield replace(plain, url=f"{quoted(path)}$")
        yield replace(with_query, url=f"{quoted(path)}?*", item=plain.item or page.queried[0].item)
    if same is None:
        yield from by_query(page)


def by_query(page: PageOfItems) -> Iterator[Terms]:
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
        paths += [f"{one}{INDEX}" for one in paths if one.endswith("/")]
    return paths


def hidden_items(one: Ruled, pages: Iterable[PageOfItems], same: SamePage | None) -> Iterator[Terms]:
    """Yield the terms of items that crawlers may overlook, because the pattern is as long as their entries."""
    for page in pages:
        length = len(quoted(page.path)) + 1
        if one.urls[0] == f"{quoted(page.path)}$" and page.plain is not None:
            continue  # replaced by the item's entries
        longest = max(one.length - length, one.queried_length - length - 1)
        if longest >= 0 and any(one.pattern.matches(path) for path in spellings(page.path, same)):
            yield from terms_at(page)


def all_items(one: Ruled, pages: Iterable[PageOfItems]) -> Iterator[Terms]:
    """Yield the terms of items that have no entries."""
    for page in pages:
        if one.pattern.matches(page.path):
            yield from terms_at(page)
