"""Matches paths against patterns as in RFC 9309: `*` matches anything, a final `$` matches the end.

Without `$` a pattern matches all paths that start with it. Uses neither the ORM nor HTTP.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Generic, Protocol, TypeVar
from urllib.parse import quote

from msgspec import Struct

from kit.values.paths import PATH_CHARACTERS, SLASHES, decode

MAX_PATTERN = 2048  # characters
MAX_WILDCARDS = 10  # of a pattern; robots.txt files rarely use more than two
MAX_CHARACTERS = 20_000  # of all patterns of a site
MAX_QUICK = 500  # comparisons of a path with parts of patterns
MAX_COMPARISONS = 250_000  # for a page: 100 paths and a site of 200 patterns with 10 wildcards each
PATTERN = rf"^/[^\s?#$*]*(\*[^\s?#$*]*){{0,{MAX_WILDCARDS}}}\$?$"  # for JSON Schema
# Characters from which on str.find may compare each part many times.
LONG_PART = 16
LONG_PATH = 256

Find = Callable[[str, int], re.Match[str] | None]


class Pattern(Struct, frozen=True, dict=True):
    """A parsed pattern. `parts` are the texts between wildcards in normal form; encoded `*` and `$` are literal."""

    parts: tuple[str, ...]
    is_anchored: bool

    @classmethod
    def from_text(cls, text: str) -> "Pattern":
        is_anchored = text.endswith("$")
        return cls(tuple(map(normal_part, text.removesuffix("$").split("*"))), is_anchored)

    @cached_property
    def length(self) -> int:
        """The length in octets, as in RFC 9309. The longest matching pattern is the most specific."""
        octets = sum(len(quote(part, safe=PATH_CHARACTERS)) for part in self.parts)
        return octets + len(self.parts) - 1 + self.is_anchored

    @property
    def matches_every_path(self) -> bool:
        first, *others = self.parts
        return first == "/" and not any(others) and (bool(others) or not self.is_anchored)

    @property
    def is_literal(self) -> bool:
        """Whether the pattern matches a single path."""
        return self.is_anchored and len(self.parts) == 1

    @property
    def ending(self) -> str:
        """The text that every matching path ends with."""
        return self.parts[-1] if self.is_anchored else ""

    def matches(self, path: str) -> bool:
        """Whether the pattern matches `path`, which is in normal form. Takes time linear in the path's length."""
        return self.leading_parts(path) == len(self.parts)

    def leading_parts(self, path: str) -> int:
        """Return how many parts the path has, from its beginning and in their order; all of them if it matches."""
        parts = self.parts
        if not path.startswith(parts[0]):
            return 0
        position = len(parts[0])
        last = len(parts) - 1
        if last == 0:
            return int(not self.is_anchored or len(path) == position)
        for index in range(1, last):
            position = find_end(parts[index], path, position)
            if position < 0:
                return index
        if self.is_anchored:
            matches = len(path) - len(parts[last]) >= position and path.endswith(parts[last])
        else:
            matches = find_end(parts[last], path, position) >= 0
        return last + matches


def find_end(part: str, path: str, start: int) -> int:
    """Return where the part ends that is found first; -1 if there is none. Takes time linear in the path's length.

    `str.find` compares a long periodic part again at each place, regular expressions do not.
    """
    if len(part) >= LONG_PART and len(path) >= LONG_PATH:
        match = find_long(part)(path, start)
        return -1 if match is None else match.end()
    position = path.find(part, start)
    return -1 if position < 0 else position + len(part)


@lru_cache(maxsize=1_000)
def find_long(part: str) -> Find:
    return re.compile(re.escape(part)).search


def normal_part(text: str) -> str:
    return SLASHES.sub("/", decode(text))


@lru_cache(maxsize=10_000)
def compile_pattern(text: str) -> Pattern:
    return Pattern.from_text(text)


class HasPattern(Protocol):
    pattern: str


R = TypeVar("R", bound=HasPattern)


class RuleTable(Generic[R]):
    """Rules of a site, ready to be matched with many pages. `comparisons` is the most that one path can take."""

    def __init__(self, rules: Iterable[R]) -> None:
        pairs = [(compile_pattern(rule.pattern), rule) for rule in rules]
        self.by_rank = sorted(pairs, key=lambda pair: -pair[0].length)
        self.comparisons = sum(len(pattern.parts) for pattern, _ in pairs)

    @property
    def is_quick(self) -> bool:
        """Whether matching a short path takes the event loop only some microseconds."""
        return self.comparisons <= MAX_QUICK

    def can_match(self, paths: int) -> bool:
        """Whether so many paths are matched. False only for sites stored before patterns had their limits."""
        return paths * self.comparisons <= MAX_COMPARISONS

    def most_specific(self, *paths: str) -> R | None:
        """Return the rule with the longest pattern that matches one of the normalised paths; of equals the first."""
        for pattern, rule in self.by_rank:
            if any(map(pattern.matches, paths)):
                return rule
        return None


def patterns_overlap(pattern: Pattern, other: Pattern) -> bool:
    """Whether some text matches both patterns. Takes linear time.

    If both have a wildcard, all middle parts fit between a common beginning and a common end, one after the other.
    """
    if pattern.is_literal:
        return other.matches(pattern.parts[0])
    if other.is_literal:
        return pattern.matches(other.parts[0])
    return begin_alike(pattern.parts[0], other.parts[0]) and begin_alike(pattern.ending[::-1], other.ending[::-1])


def begin_alike(text: str, other: str) -> bool:
    return text.startswith(other) or other.startswith(text)


class PatternIndex:
    """Finds the patterns whose first part a path begins with."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.by_first_part: dict[str, list[int]] = {}
        for index, pattern in enumerate(patterns):
            self.by_first_part.setdefault(pattern.parts[0], []).append(index)
        self.lengths = sorted({len(text) for text in self.by_first_part})

    def candidates(self, path: str) -> Iterator[int]:
        """Yield the places of the patterns."""
        for length in self.lengths[: bisect_right(self.lengths, len(path))]:
            yield from self.by_first_part.get(path[:length], ())


def pattern_error(text: str) -> str | None:
    """Return why a pattern is invalid, or None."""
    if not text.startswith("/"):
        return "Must begin with a slash."
    if len(text) > MAX_PATTERN:
        return f"Must have at most {MAX_PATTERN:,} characters."
    if not text.isprintable() or " " in text:
        return "Must not contain white space or control characters; write them as %20."
    if "?" in text or "#" in text:
        return "Must be a path: the query of a page is not looked at."
    if "$" in text[:-1]:
        return "$ stands for the end of the path, and nothing follows it."
    if any(segment in (".", "..") for segment in SLASHES.split(decode(text))):
        return "Must not contain dot segments."
    if text.count("*") > MAX_WILDCARDS:
        return f"Must have at most {MAX_WILDCARDS} wildcards (*)."
    return None


def size_error(patterns: Iterable[str]) -> str | None:
    """Return why the patterns of a site are too long together, or None."""
    characters = sum(map(len, patterns))
    if characters <= MAX_CHARACTERS:
        return None
    return f"All patterns together must have at most {MAX_CHARACTERS:,} characters; these have {characters:,}."
