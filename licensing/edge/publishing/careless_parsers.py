"""Arranges terms so that careless parsers read nothing that is not allowed. Uses neither the ORM nor HTTP.

Such a parser cuts the query off a URL, counts octets without wildcards and the final `$`, and takes the first of two
patterns with equally many. Without a wildcard it reads `/a?*` as `/a`, and this as `/a` with everything below `/a/`. A
parser that obeys RFC 9309 reads the same as before, or less.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from licensing.crawler_classes import USES
from licensing.edge.publishing.overlaps import Overlaps
from licensing.edge.publishing.published_terms import Terms, url_pattern
from licensing.sites.patterns import Pattern, patterns_overlap

ROOT = "/"


class Candidate(NamedTuple):
    """An entry for several pages, with its length for RFC 9309 and its score for careless parsers."""

    terms: Terms
    pattern: Pattern
    length: int
    score: int

    def covers(self, beginning: str) -> bool:
        """Return whether the entry matches every page that begins like this."""
        first, *others = self.pattern.parts
        return not self.pattern.is_anchored and not any(others) and beginning.startswith(first)


def arrange(terms: Sequence[Terms]) -> list[Terms]:
    """Return the terms in an order, and with the entries, that are safe for careless parsers."""
    urls = {entry.url for entry in terms}
    open_ended = [
        Candidate(entry, url_pattern(entry.url), len(entry.url), score(entry.url))
        for entry in terms
        if "?" not in entry.url and not is_single(entry.url)
    ]
    narrowed = [narrow(entry, open_ended) for entry in terms]
    rest = [entry for entry in narrowed if cut(entry.url) != ROOT]
    guards = [guard for entry in rest if (guard := guard_below(entry, open_ended)) and guard.url not in urls]
    ordered = sorted([*rest, *guards], key=order)
    return [*ordered, *arrange_root([entry for entry in narrowed if cut(entry.url) == ROOT])]


def entries_for_licensees(terms: Sequence[Terms]) -> set[str]:
    """Return the URLs of the entries that have to name the licence server: those under which a licence may help.

    Some parsers look for an entry without a server that permits the use, and only then for the most specific one.
    They would take what is free on most pages for free on a page with terms of its own. So entries that overlap such
    a page's name the server, too.
    """
    overlaps = Overlaps([url_pattern(entry.url.partition("?")[0]) for entry in terms])
    stricter = sum(1 << place for place, entry in enumerate(terms) if not entry.uses.issuperset(USES))
    urls = set[str]()
    for place, entry in enumerate(terms):
        if stricter >> place & 1 or overlaps.with_pattern(place, stricter):
            urls.add(entry.url)
    return urls


def cut(url: str) -> str:
    """Return the URL as a careless parser reads it: without query, wildcards and `$`."""
    return url.partition("?")[0].removesuffix("$").replace("*", "")


def score(url: str) -> int:
    return len(cut(url))


def is_single(url: str) -> bool:
    """Return whether the URL is that of a single page."""
    return url.endswith("$") and "*" not in url


def order(entry: Terms) -> tuple[int, bool, int, str]:
    """Sort key: the best score first, then what all queries of a page share, then the longest, as RFC 9309 chooses."""
    return -score(entry.url), not entry.url.endswith("?*"), -len(entry.url), entry.url


def narrow(entry: Terms, open_ended: Iterable[Candidate]) -> Terms:
    """Return the entry without what it would grant where a careless parser prefers it to the right entry."""
    path, mark, _ = entry.url.partition("?")
    if not (entry.uses or entry.prices):
        return entry
    if mark and "*" in path:  # cut off, it matches further pages
        return replace(entry, uses=frozenset(), prices={})
    url = f"{path}$" if mark else entry.url
    length, most, pattern = len(url), score(url) + bool(mark), url_pattern(url)
    preferred = (other for other in open_ended if other.length > length and other.score < most)
    return entry.intersect(other.terms for other in preferred if patterns_overlap(other.pattern, pattern))


def guard_below(entry: Terms, open_ended: Sequence[Candidate]) -> Terms | None:
    """Return an entry for the pages below a page with a query, if they have other terms; None if it is not needed.

    It states what the entries state that parsers choose for these pages without it.
    """
    path, mark, _ = entry.url.partition("?")
    if not mark or path.endswith("/") or not (entry.uses or entry.prices):
        return None
    below = Pattern((f"{path}/", ""), is_anchored=False)
    guard = Terms(f"{path}/*")
    length = len(guard.url)
    shorter = [other for other in open_ended if other.length <= length]
    covering = [other for other in shorter if other.covers(below.parts[0])]
    cover = max(covering, key=lambda other: other.length, default=None)
    least = 0 if cover is None else cover.length
    beside = [other.terms for other in shorter if other.length >= least and patterns_overlap(other.pattern, below)]
    shared = replace((Terms("") if cover is None else cover.terms).intersect(beside), url=guard.url, item=None)
    return None if grants_no_more(entry, shared) else shared


def grants_no_more(terms: Terms, other: Terms) -> bool:
    """Return whether the other terms grant everything that these grant, at the same prices."""
    return terms.uses <= other.uses and terms.prices.items() <= other.prices.items()


def arrange_root(terms: Sequence[Terms]) -> Iterator[Terms]:
    """Yield the entries that a careless parser reads as `/`, which it takes for every page."""
    of_all = [entry for entry in terms if entry.url in (ROOT, "/*")]
    of_root = [entry for entry in terms if entry.url not in (ROOT, "/*")]
    if of_root and not of_all:
        of_all = [Terms(ROOT)]  # pages without an entry are not licensed either
    if not all(grants_no_more(entry, other) for entry in of_all for other in of_root):
        of_root = [entry.intersect(of_all) for entry in of_root]
        yield from sorted(of_root, key=lambda entry: (len(entry.uses) + len(entry.prices), entry.url))
        yield from of_all
    else:
        yield from of_all
        yield from of_root
