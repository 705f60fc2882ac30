"""Which patterns of a site overlap, as sets of their places. A set is a bit mask, so that comparing it with another
takes the same time for 10 as for 200 patterns. Uses neither the ORM nor HTTP.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from licensing.sites.patterns import Pattern

V = TypeVar("V", int, tuple[int, int])

MAX_LITERALS = 5_000  # comparisons of a pattern with a pattern for a single path; ordinary sites need a few dozen


class Overlaps:
    """The overlaps of a site's patterns.

    Patterns with wildcards overlap if they begin and end alike. Only patterns for a single path (`/about$`) are
    compared one by one, up to MAX_LITERALS times; beyond that they count as overlapping.
    """

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = patterns
        beginnings = begin_alike([pattern.parts[0] for pattern in patterns])
        endings = begin_alike([pattern.ending[::-1] for pattern in patterns])
        self.beginning_alike = beginnings
        self.alike = [beginning & ending for beginning, ending in zip(beginnings, endings, strict=True)]
        self.literals = sum(1 << place for place, pattern in enumerate(patterns) if pattern.is_literal)
        self.comparisons_left = MAX_LITERALS

    def with_pattern(self, place: int, candidates: int) -> int:
        """Return those of the candidates that overlap the pattern at this place."""
        pattern, alike = self.patterns[place], self.alike[place] & candidates
        if pattern.is_literal:
            return self.only(alike, lambda other: other.matches(pattern.parts[0]))
        others = self.only(alike & self.literals, lambda other: pattern.matches(other.parts[0]))
        return others | alike & ~self.literals

    def with_beginning(self, place: int, parts: int) -> int:
        """Return the patterns that overlap this one cut off after so many parts, with a wildcard in place of the rest.

        The pattern must have a wildcard.
        """
        pattern, alike = self.patterns[place], self.beginning_alike[place]
        others = self.only(alike & self.literals, lambda other: pattern.leading_parts(other.parts[0]) >= parts)
        return others | alike & ~self.literals

    def only(self, candidates: int, is_match: Callable[[Pattern], bool]) -> int:
        """Return the candidates that match, and those for which no comparisons are left."""
        matching = candidates
        for place in places_in(candidates):
            if self.comparisons_left <= 0:
                break
            self.comparisons_left -= 1
            if not is_match(self.patterns[place]):
                matching &= ~(1 << place)
        return matching


def begin_alike(texts: Sequence[str]) -> list[int]:
    """Return for each text the set of the texts that it begins with or that begin with it, itself included."""
    alike = [0] * len(texts)
    begun: list[tuple[int, int]] = []  # texts that the next ones may begin with, each with the set of those before it
    above = before = 0

    def end_last() -> None:
        nonlocal above
        place, before_it = begun.pop()
        above &= ~(1 << place)
        alike[place] = above | before & ~before_it

    # In this order a text comes right before those that begin with it.
    for place in sorted(range(len(texts)), key=texts.__getitem__):
        while begun and not texts[place].startswith(texts[begun[-1][0]]):
            end_last()
        begun.append((place, before))
        above |= 1 << place
        before |= 1 << place
    while begun:
        end_last()
    return alike


def at_most(values: Sequence[V]) -> list[int]:
    """Return for each value the set of those that are at most as large."""
    at_most_by_place = [0] * len(values)
    below = 0
    for _, equal in groupby(sorted(range(len(values)), key=values.__getitem__), values.__getitem__):
        places = list(equal)
        below |= sum(1 << place for place in places)
        for place in places:
            at_most_by_place[place] = below
    return at_most_by_place


def places_in(places: int) -> Iterator[int]:
    """Yield the places of a set."""
    while places:
        lowest = places & -places
        yield lowest.bit_length() - 1
        places ^= lowest
