"""Reads robots.txt by RFC 9309: groups of crawlers, and the longest matching rule."""

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

from licensing.sites.patterns import Pattern

BOM = "\ufeff"
LINE = re.compile(r"\r\n?|\n")
NOT_IN_TOKENS = re.compile(r"[^A-Za-z0-9_-]")
ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")
UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
INDEX = "/index.html"
# Keys, with the misspellings that crawlers accept.
KEYS = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), "user-agent"),
    "allow": "allow",
    **dict.fromkeys(("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"), "disallow"),
}


class Rule(NamedTuple):
    pattern: Pattern
    length: int
    allows: bool


class Group:
    """The crawlers that some lines `User-agent` name, and their rules."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.rules: list[Rule] = []

    def names_crawler(self, token: str) -> bool:
        """Return whether a line names the crawler: its token is equal up to the first character that tokens lack."""
        return any(token in (NOT_IN_TOKENS.split(name, 1)[0].lower(), name.lower()) for name in self.names)


class RobotsTxt:
    """A parsed robots.txt."""

    def __init__(self, text: str) -> None:
        self.groups: list[Group] = []
        in_names = False
        for key, value in records(text):
            if key == "user-agent":
                if not in_names:
                    self.groups.append(Group())
                self.groups[-1].names.append(value)
                in_names = True
            elif self.groups:
                in_names = False
                if value:
                    self.groups[-1].rules += read_rules(value, allows=key == "allow")

    def allows(self, url: str, token: str) -> bool:
        """Return whether the crawler may fetch the URL. The longest rule decides, `Allow` if two are equally long."""
        target = normalize(path_and_query(url))
        own = [group for group in self.groups if group.names_crawler(token.lower())]
        groups = own or [group for group in self.groups if any(name.split()[:1] == ["*"] for name in group.names)]
        matching = (rule[1:] for group in groups for rule in group.rules if rule.pattern.matches(target))
        return max(matching, default=(0, True))[1]


def records(text: str) -> Iterator[tuple[str, str]]:
    """Yield key and value of the lines about crawlers and rules. All other records mean nothing here (2.2.4)."""
    for line in LINE.split(text.removeprefix(BOM)):
        content = line.partition("#")[0].strip()
        name, colon, value = content.partition(":")
        if not colon:
            words = content.split()
            name, value = words if len(words) == 2 else ("", "")  # a missing colon
        key = KEYS.get(name.strip().lower())
        if key is not None:
            yield key, value.strip()


def read_rules(text: str, *, allows: bool) -> list[Rule]:
    """Parse a rule. `Allow` of an index.html also allows the folder that it stands for."""
    rules = [read_rule(text, allows=allows)]
    if allows and text.endswith(INDEX):
        rules.append(read_rule(text.removesuffix(INDEX) + "/$", allows=True))
    return rules


def read_rule(text: str, *, allows: bool) -> Rule:
    parts = tuple(map(normalize, text.removesuffix("$").split("*")))
    length = sum(map(len, parts)) + len(parts) - 1 + text.endswith("$")
    return Rule(Pattern(parts, text.endswith("$")), length, allows)


def path_and_query(url: str) -> str:
    """Return path and query of a URL."""
    _, _, rest = url.partition("#")[0].partition("://")
    place = min((place for place in (rest.find("/"), rest.find("?")) if place >= 0), default=len(rest))
    target = rest[place:]
    return target if target.startswith("/") else f"/{target}"


def normalize(text: str) -> str:
    """Encode what is not ASCII, and decode what need not be encoded, as both are to be compared (2.2.2)."""
    return ENCODED.sub(shortest, quote(text, safe=PRINTABLE, errors="surrogatepass"))


def shortest(octet: re.Match[str]) -> str:
    character = chr(int(octet[1], 16))
    return character if character in UNRESERVED else octet[0].upper()
