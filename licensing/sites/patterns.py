"""Matches paths against patterns as in RFC 9309: `*` matches anything, a final `$` matches the end.

Without `$` a pattern matches all paths that start with it. Uses neither the ORM nor HTTP.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol, TypeVar
from urllib.parse import quote

from msgspec import Struct

from kit.values.paths import PATH_CHARACTERS, SLASHES, decode

MAX_PATTERN = 2048  # characters
MAX_COMPARED = 100_000  # pairs of characters
PATTERN = r"^/[^\s?#$]*\$?$"  # for JSON Schema


class Pattern(Struct, frozen=True, gc=False):
    """A parsed pattern. `parts` are the texts between wildcards in normal form; encoded `*` and `$` are literal."""

    parts: tuple[str, ...]
    is_anchored: bool

    @classmethod
    def of(cls, text: str) -> "Pattern":
        is_anchored = text.endswith("$")
        return cls(tuple(map(normal_part, text.removesuffix("$").split("*"))), is_anchored)

    @property
    def length(self) -> int:
        """The length in octets, as in RFC 9309. The longest matching pattern is the most specific."""
        octets = sum(len(quote(part, safe=PATH_CHARACTERS)) for part in self.parts)
        return octets + len(self.parts) - 1 + self.is_anchored

    @property
    def matches_every_path(self) -> bool:
        first, *others = self.parts
        return first == "/" and not any(others) and (bool(others) or not self.is_anchored)

    def matches(self, path: str) -> bool:
        """Whether the pattern matches `path`, which is in normal form. Takes time linear in the path's length."""
        first, *others = self.parts
        if not path.startswith(first):
            return False
        if not others:
            return not self.is_anchored or path == first
        at = len(first)
        *middle, last = others
        for part in middle:
            found = path.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        if self.is_anchored:
            return len(path) - len(last) >= at and path.endswith(last)
        return path.find(last, at) >= 0


def normal_part(text: str) -> str:
    return SLASHES.sub("/", decode(text))


compiled = lru_cache(maxsize=10_000)(Pattern.of)


class HasPattern(Protocol):
    pattern: str


R = TypeVar("R", bound=HasPattern)


def most_specific(rules: Iterable[R], *paths: str) -> R | None:
    """Return the rule with the longest pattern that matches one of the normalised paths; of equals the first."""
    best: R | None = None
    for rule in rules:
        pattern = compiled(rule.pattern)
        if (best is None or pattern.length > compiled(best.pattern).length) and any(map(pattern.matches, paths)):
            best = rule
    return best


def may_overlap(one: Pattern, other: Pattern) -> bool:
    """Whether some path may match both patterns. Certain if False; also True if comparing them takes too long."""
    first, second = one.parts[0], other.parts[0]
    if not first.startswith(second) and not second.startswith(first):
        return False
    ours, theirs = symbols(one), symbols(other)
    if len(ours) * len(theirs) > MAX_COMPARED:
        return True
    # reached[j]: the symbols of `ours` so far and the first j of `theirs` match a common text
    reached = [True]
    for symbol in theirs:
        reached.append(reached[-1] and symbol is None)
    for own in ours:
        row = [reached[0] and own is None]
        for at, symbol in enumerate(theirs, 1):
            if own is None or symbol is None:
                row.append(reached[at] or row[-1])
            else:
                row.append(reached[at - 1] and own == symbol)
        reached = row
    return reached[-1]


def symbols(pattern: Pattern) -> list[str | None]:
    """Return the characters of a pattern, with None for a wildcard."""
    first, *others = pattern.parts
    found: list[str | None] = [*first]
    for part in others:
        found += [None, *part]
    return found if pattern.is_anchored else [*found, None]


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
    return None
