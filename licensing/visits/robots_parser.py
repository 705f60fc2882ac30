"""Reads robots.txt by RFC 9309: groups of crawlers, and the longest matching rule."""

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

from licensing.sites.patterns import Pattern

BOM = "\ufeff"
LINE_END = re.compile(r"\r\n?|\n")
NON_TOKEN_CHARACTER = re.compile(r"[^A-Za-z0-9_-]")
ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")
UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
INDEX = "/index.html"
# Keys, with the misspellings that crawlers accept.
KEY_SPELLINGS = {
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
        return any(token in (NON_TOKEN_CHARACTER.split(name, 1)[0].lower(), name.lower()) for name in self.names)

    def names_everyone(self) -> bool:
        return any(name.split()[:1] == ["*"] for name in self.names)


class RobotsTxt:
    def __init__(self, text: str) -> None:
        self.groups: list[Group] = []
        follows_name = False
        for key, value in read_records(text):
            if key == "user-agent":
                if not follows_name:
                    self.groups.append(Group())
                self.groups[-1].names.append(value)
                follows_name = True
            elif self.groups:
                follows_name = False
                if value:
                    self.groups[-1].rules += read_rules(value, allows=key == "allow")

    def allows(self, url: str, token: str) -> bool:
        """Return whether the crawler may fetch the URL. The longest rule decides, `Allow` if two are equally long."""
        target = normalise(path_and_query(url))
        groups_of_crawler = [group for group in self.groups if group.names_crawler(token.lower())]
        groups = groups_of_crawler or [group for group in self.groups if group.names_everyone()]
        matching = [rule for group in groups for rule in group.rules if rule.pattern.matches(target)]
        if not matching:
            return True
        return max(matching, key=lambda rule: (rule.length, rule.allows)).allows


def read_records(text: str) -> Iterator[tuple[str, str]]:
    """Yield key and value of the lines about crawlers and rules. All other records mean nothing here (2.2.4)."""
    for line in LINE_END.split(text.removeprefix(BOM)):
        content = line.partition("#")[0].strip()
        name, colon, value = content.partition(":")
        if not colon:
            words = content.split()  # a key and a value without a colon between them
            if len(words) != 2:
                continue
            name, value = words
        key = KEY_SPELLINGS.get(name.strip().lower())
        if key is not None:
            yield key, value.strip()


def read_rules(text: str, *, allows: bool) -> list[Rule]:
    """Parse a rule. `Allow` of an index.html also allows the folder that it stands for."""
    rules = [read_rule(text, allows=allows)]
    if allows and text.endswith(INDEX):
        rules.append(read_rule(text.removesuffix(INDEX) + "/$", allows=True))
    return rules


def read_rule(text: str, *, allows: bool) -> Rule:
    parts = tuple(normalise(text.removesuffix("$")).split("*"))
    length = sum(map(len, parts)) + len(parts) - 1 + text.endswith("$")
    return Rule(Pattern(parts, text.endswith("$")), length, allows)


def path_and_query(url: str) -> str:
    without_fragment = url.partition("#")[0]
    _, _, host_and_target = without_fragment.partition("://")
    match = re.search("[/?]", host_and_target)
    target = host_and_target[match.start() :] if match else ""
    return target if target.startswith("/") else f"/{target}"


def normalise(text: str) -> str:
    """Encode what is not ASCII, and decode what need not be encoded, as both are to be compared (2.2.2)."""
    return ENCODED.sub(shortest_encoding, quote(text, safe=PRINTABLE, errors="surrogatepass"))


def shortest_encoding(octet: re.Match[str]) -> str:
    character = chr(int(octet[1], 16))
    return character if character in UNRESERVED else octet[0].upper()
