"""Turns patterns of pages into regular expressions for proxies (PCRE and RE2).

A pattern that opens pages becomes an expression that matches some of its pages, by plain spellings only: letters,
digits, `_-.~,:@!`, escaped letters of other scripts, and no dot segments or empty segments. Origins may read other
characters as something else: `+` as a space, `;` and `(S(…))` as no part of the name. An expression that closes pages
matches all pages of its pattern, and more.
Expressions contain neither quotes, backslashes, braces nor spaces, so they can stand in any of the files.
"""

import re
from collections.abc import Iterable

from licensing.edge.original import FREE_FOLDERS, FREE_PATHS
from licensing.sites.patterns import Pattern

MAX_LENGTH, MAX_WILDCARDS = 500, 3
MAX_OPENING = 3_000  # nginx reads 4,096 characters
PLAIN_CHARACTERS = "A-Za-z0-9_~,:@!"
is_plain = re.compile(f"[{PLAIN_CHARACTERS}./-]*").fullmatch
# Characters from U+0080 to U+EFFF in their shortest form. Those above have look-alikes of "/" and ".".
TWO_OCTETS, FURTHER_OCTET = "[Cc][2-9A-Fa-f]|[Dd][0-9A-Fa-f]", "%[89ABab][0-9A-Fa-f]"
THREE_OCTETS = f"[Ee]0%[ABab][0-9A-Fa-f]|[Ee][1-9A-Ea-e]{FURTHER_OCTET}"
ESCAPED = f"%({TWO_OCTETS}|{THREE_OCTETS}){FURTHER_OCTET}"
REST = f"([{PLAIN_CHARACTERS}.-]|{ESCAPED})*"
SEGMENT = f"([{PLAIN_CHARACTERS}-]|{ESCAPED}){REST}"
FURTHER = f"(/{SEGMENT})*"

# What the files of deploy/edge/ name, too (tests/edge/test_proxy_config.py): the free paths except the terms, which
# the service answers, and the assets, about which it is not asked.
NAME = "[a-zA-Z0-9_-][a-zA-Z0-9_.-]*"
FREE_FILES = "|".join(sorted(path[1:].replace(".", "[.]") for path in FREE_PATHS - {"/license.xml"}))
FREE_IN_FOLDERS = "|".join(folder.strip("/").replace(".", "[.]") for folder in FREE_FOLDERS)
FREE = f"/({FREE_FILES}|(wp-)?sitemap[a-zA-Z0-9_.-]*[.]xml|{NAME}-sitemap[.]xml|({FREE_IN_FOLDERS})(/{NAME})+)"
ASSET_FOLDERS = ("assets", "static")
ASSET_TYPES = "css|js|mjs|map|woff2?|ttf|otf|ico|svg|png|jpe?g|gif|webp|avif"
ASSET = f"/({'|'.join(ASSET_FOLDERS)})(/[a-zA-Z0-9_-]+)*/{NAME}[.]({ASSET_TYPES})"


def opening(pattern: Pattern) -> str | None:
    """Return the expression of whole paths; None if the pattern cannot be written by plain spellings."""
    first, *others = pattern.parts
    parts = [first, *(part for part in others[:-1] if part), *others[-1:]]
    if (not pattern.is_anchored and parts[-1]) or (len(parts) == 1 and not pattern.is_anchored):
        parts.append("")
    if len(parts) > MAX_WILDCARDS + 1 or not all(is_plain(part) and "/." not in part for part in parts):
        return None
    text, before = quoted(first), first
    for place, part in enumerate(parts[1:], 2):
        is_tail = place == len(parts) and not part
        follows_slash = before.endswith("/")
        if is_tail:
            text += f"({SEGMENT}{FURTHER}/?)?" if follows_slash else f"{REST}{FURTHER}/?"
        else:
            text += (f"{SEGMENT}{FURTHER}" if follows_slash else f"{REST}{FURTHER}") + quoted(part)
        before = part
    return text if len(text) <= MAX_OPENING else None


def closing(pattern: Pattern) -> str | None:
    """Return the expression of the beginning of paths, in any case; None if no plain path matches the pattern."""
    if not all(map(is_plain, pattern.parts)):
        return closing_escaped(pattern)
    first, *others = pattern.parts
    text = quoted((first if others else first.rstrip("/"))[: MAX_LENGTH // 3])
    rest = "".join(f".*{quoted(part.rstrip('/'))}" for part in others if part.rstrip("/"))
    return text + rest if len(text + rest) <= MAX_LENGTH else text


def closing_escaped(pattern: Pattern) -> str | None:
    """Return the expression of all paths with escapes, up to the first one in the pattern; None if it has none."""
    if not any(character > "\x7f" for part in pattern.parts for character in part):
        return None  # an ASCII character that has to be escaped is in no plain path
    before = re.match(f"[{PLAIN_CHARACTERS}./-]*", pattern.parts[0])
    return f"{quoted(before[0][: MAX_LENGTH // 3]) if before else ''}.*%"


def naming(tokens: Iterable[str]) -> str:
    """Return an expression in lower case of a token between other characters, as crawlers are recognised."""
    words = "|".join(re.sub(r"[^a-z0-9_-]", ".", token.lower()) for token in tokens)
    return f"(^|[^a-z0-9])({words})([^a-z0-9]|$)"


def quoted(part: str) -> str:
    """Return the expression of the text itself, without backslashes, which differ between files."""
    return part.replace(".", "[.]")
