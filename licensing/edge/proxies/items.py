"""Chooses the registered items that a site's proxy file names, and the patterns that it closes instead."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import NamedTuple

from licensing.edge.proxies.accesses import Access, strictest
from licensing.sites.patterns import Pattern, PatternIndex

MAX_CLOSED_ITEMS = 500
MAX_COMPARISONS = 5_000_000  # about a second


class Group(NamedTuple):
    """Items with the same access, and the places of the patterns that decide the readings of their paths without them.

    `has_every_query`: whether an item decides each path with any query. Otherwise the patterns decide other queries.
    """

    places: tuple[int, ...]
    access: Access
    has_every_query: bool

    def page_access(self, accesses: Sequence[Access]) -> Access:
        """Return the access of the path with any query, given those of the patterns."""
        if self.has_every_query:
            return self.access
        return strictest(self.access, *(accesses[place] for place in self.places))

    def laxer_places(self, accesses: Sequence[Access]) -> list[int]:
        """Return the places of the patterns that would open a page of the items."""
        strictness = self.page_access(accesses).strictness
        return [place for place in self.places if accesses[place].strictness > strictness]


class Choice(NamedTuple):
    """The items that the file names, and the places of the patterns with too many items, with their numbers.

    The file treats the pages of these patterns as those without a pattern. The numbers are too high unless
    `is_complete`: then all items were compared.
    """

    items: list[tuple[str, Access]]
    overfull: Mapping[int, int]
    is_complete: bool


def choose_items(
    items: Mapping[str, Access],
    paths_with_every_query: Collection[str],
    patterns: Sequence[Pattern],
    accesses: Sequence[Access],
    default: Access,
) -> Choice:
    """Choose up to MAX_CLOSED_ITEMS items by path. The first of the patterns that matches a path decides it.

    An item is named if it is stricter than its pattern. If these are too many, the patterns with most of them are
    closed. More lenient items are named if there is room. Any pattern may decide an item that was not compared.
    `default` must be the strictest of the accesses.
    """
    decided = [*accesses, default]  # the last place is that of paths without a pattern
    found = deciding_places(patterns, items)
    any_place = tuple(range(len(decided)))
    groups: dict[Group, list[str]] = {}
    for path, places in zip(items, chain(found, repeat(any_place)), strict=False):
        groups.setdefault(Group(places, items[path], path in paths_with_every_query), []).append(path)
    overfull: dict[int, int] = {}
    while True:
        laxer = {group: group.laxer_places(decided) for group in groups}
        if sum(len(paths) for group, paths in groups.items() if laxer[group]) <= MAX_CLOSED_ITEMS:
            break
        numbers: Counter[int] = Counter()
        for group, paths in groups.items():
            numbers.update(dict.fromkeys(laxer[group], len(paths)))
        fullest = max(numbers, key=lambda place: (numbers[place], -place))  # of equals the first
        overfull[fullest] = numbers[fullest]
        decided[fullest] = default
    stricter: list[tuple[str, Access]] = []
    lenient: list[tuple[str, Access]] = []
    for group, paths in groups.items():
        access = group.page_access(decided)
        named = [(path, access) for path in paths]
        if laxer[group]:
            stricter += named
        elif any(decided[place].strictness < access.strictness for place in group.places):
            lenient += named
    return Choice([*stricter, *lenient[: MAX_CLOSED_ITEMS - len(stricter)]], overfull, len(found) == len(items))


def deciding_places(patterns: Sequence[Pattern], paths: Iterable[str]) -> list[tuple[int, ...]]:
    """Return for each path the places of the patterns that decide its readings; `len(patterns)` stands for none.

    SAME_PAGE may leave out a final slash or `index.html`, so paths are matched with them, too. Ends after
    MAX_COMPARISONS with parts of patterns.
    """
    index = PatternIndex(patterns)
    comparisons = 0
    found: list[tuple[int, ...]] = []
    for path in paths:
        folder = f"{path.removesuffix('/')}/"
        readings = (path, folder, f"{folder}index.html")
        candidates = sorted(index.candidates(readings[-1]))
        comparisons += len(readings) * sum(len(patterns[place].parts) for place in candidates)
        if comparisons > MAX_COMPARISONS:
            break
        first = {
            next((place for place in candidates if patterns[place].matches(reading)), len(patterns))
            for reading in readings
        }
        found.append(tuple(sorted(first)))
    return found
