"""Random policies of a site, and parsers that read its published terms as crawlers do.

The parsers are independent of the code that writes the terms. Where a format is ambiguous, they take the most lenient
reading.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar
from xml.etree import ElementTree

from hypothesis import strategies as st

from kit.values.canonical_pages import RegisteredPage, RequestedPages
from kit.values.paths import usual_path
from licensing.edge.publishing.terms import Item
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.rules import parse_rules
from licensing.sites.pages import candidate_pages
from licensing.sites.patterns import RuleTable

T = TypeVar("T")
USES = ("search", "ai_index", "ai_input", "ai_training")
RSL = "{https://rslstandard.org/rsl}"
NAMES = {
    "search": {"search"}, "ai-input": {"ai_input"}, "ai-train": {"ai_training"}, "ai-use": {"ai_input"},
    "train-ai": {"ai_training"}, "ai-index": {"ai_index"}, "ai-all": {"ai_index", "ai_input", "ai_training"},
    "all": set(USES),
}  # fmt: skip

CONDITIONS = st.one_of(
    st.just({"default": True}),
    st.fixed_dictionaries(
        {},
        optional={
            "permission": st.lists(st.sampled_from(["read", *USES]), min_size=1, max_size=3, unique=True),
            "hasValidLicense": st.booleans(),
            "licenseType": st.sampled_from(["commercial", "press"]),
            "ip": st.just("203.0.113.0/24"),
            "requesterId": st.just("anonymous"),
            "after": st.just("2026-01-01"),
            "attributes": st.just({"country": {"exists": False}}),
            "schedule": st.just({"from": "00:00", "to": "23:59", "timeZone": "UTC"}),
        },
    ).filter(bool),
)
RULES = st.lists(
    st.builds(
        lambda action, conditions, permissions, limit, price, priority: {
            "action": action,
            "conditions": conditions,
            **({"permissions": permissions} if action == "allow" else {}),
            **({"rateLimit": {"requests": 1, "period": "day"}} if action == "allow" and limit else {}),
            **({"pricePerAccess": {"amount": price, "currency": "USD"}} if action == "allow" and price else {}),
            **({} if priority is None else {"priority": priority}),
        },
        st.sampled_from(["allow", "allow", "deny"]),
        CONDITIONS,
        st.lists(st.sampled_from(["full_access", "read", *USES]), min_size=1, max_size=3, unique=True),
        st.sampled_from([False, False, True]),
        st.sampled_from([None, None, "0.01", "0.015"]),
        st.one_of(st.none(), st.integers(0, 3)),
    ),
    max_size=4,
)
POLICIES = st.one_of(
    st.none(),
    st.builds(lambda rules, default: CompiledPolicy.of("pol_x", 1, default, parse_rules(rules)), RULES,
              st.sampled_from(["allow", "deny"])),
)  # fmt: skip
PATTERNS = st.sampled_from(
    ["/", "/*", "/a", "/a$", "/a/*", "/a/b$", "/*b", "/*.pdf$", "/%C3%A9/*", "/a*b", "/ab", "/a/bc*"]
)
PATHS = st.sampled_from(
    ["/", "/a", "/a/", "/a/b", "/a/b/c", "/b", "/ab", "/a.pdf", "/a/b.pdf", "/%C3%A9/x", "/a/bcd", "/abb"]
)
SITE = "https://pub.example"
QUERIES = st.sampled_from(["", "?", "?x=1", "?y=2&x=1", "?id=5", "?x=.pdf", "?x=b", "?x=%2Fa%2Fbc"])


def item_at(target: str, policy: CompiledPolicy | None) -> Item:
    return Item(f"{SITE}{target}", RegisteredPage.from_url(f"{SITE}{target}", None), policy)


TARGETS = st.builds(str.__add__, PATHS, st.sampled_from(["", "", "?id=5", "?x=1"]))
ITEMS = st.lists(st.builds(item_at, TARGETS, POLICIES), max_size=3)  # registered at the host
SEEKERS = st.builds(
    lambda requester, valid, ip, month: {"requester_id": requester, "has_valid_license": valid, "ip": ip,
                                         "license_types": ("commercial",) if valid else (), "month": month},
    st.sampled_from(["anonymous", "crawler:gptbot"]), st.booleans(), st.none(), st.integers(1, 12),
)  # fmt: skip


class StoredRule:
    def __init__(self, pattern: str, policy: CompiledPolicy | None) -> None:
        self.pattern, self.policy = pattern, policy


class Stored:
    """An item as the page look-up returns it."""

    def __init__(self, place: int, item: Item) -> None:
        self.created = self.pk = place
        self.source, self.policy, self.status = item.source, item.policy, "active"


def policies_at(
    rules: list[tuple[str, CompiledPolicy | None]], items: list[Item], target: str
) -> list[CompiledPolicy | None]:
    """Return the policies that apply to a page by its path and query; all must allow it."""
    found = candidate_pages(RequestedPages.from_url(f"{SITE}{target}", None), map(Stored, range(len(items)), items))  # type: ignore[arg-type]
    rule = RuleTable([StoredRule(*pair) for pair in rules]).most_specific(usual_path(target))
    return [(rule.policy if rule else None) if item is None else item.policy for _, item in found]  # type: ignore[attr-defined]


def matches(pattern: str, url: str) -> bool:
    """Match as in RFC 9309, including the query."""
    text = pattern.removesuffix("$")
    expression = ".*".join(map(re.escape, text.split("*")))
    return re.match(expression + ("$" if pattern.endswith("$") else ""), url, re.DOTALL) is not None


def most_specific(told: list[tuple[str, set[T]]], url: str) -> set[T] | None:
    """Return the uses of the longest matching pattern; among equals the most lenient. None if none matches."""
    matching = [(pattern, uses) for pattern, uses in told if matches(pattern, url)]
    longest = max((len(pattern) for pattern, _ in matching), default=-1)
    found = [uses for pattern, uses in matching if len(pattern) == longest]
    return set[T]().union(*found) if found else None


def may_fetch(text: str, agent: str, target: str) -> bool:
    """Read robots.txt as RFC 9309 does: the longest match decides, `Allow` if two are equally long."""
    groups = list(groups_of_robots(text))
    own = [rules for names, rules in groups if agent in names] or [rules for names, rules in groups if "*" in names]
    matching = [(len(url), allows) for rules in own for url, allows in rules if url and matches(url, target)]
    return max(matching, default=(0, True))[1]


def groups_of_robots(text: str) -> Iterator[tuple[list[str], list[tuple[str, bool]]]]:
    """Yield the names and rules of each group. Other lines do not end a group (RFC 9309, 2.2.4)."""
    names: list[str] = []
    rules: list[tuple[str, bool]] = []
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == "User-agent":
            if rules:
                yield names, rules
                names, rules = [], []
            names.append(value.strip())
        elif key in ("Allow", "Disallow"):
            rules.append((value.strip(), key == "Allow"))
    yield names, rules


def read_rsl(document: bytes, url: str) -> set[str]:
    """Return the uses that license.xml permits for a page, by path and query; prohibitions take precedence."""
    told = []
    for url_of_content, licenses in licenses_of(document):
        uses: set[str] = set()
        for license in licenses:  # noqa: A001
            if license.find(f"{RSL}payment") is None:
                named = {kind: words_of(license, kind) for kind in ("permits", "prohibits")}
                uses |= named["permits"] - named["prohibits"]
        told.append((url_of_content, uses))
    return most_specific(told, url) or set()


def read_prices(document: bytes, url: str) -> set[tuple[str, str]]:
    """Return the prices by use that license.xml quotes for a page."""
    told = []
    for url_of_content, licenses in licenses_of(document):
        prices = {
            (use, f"{amount.attrib['currency']} {amount.text}")
            for license in licenses  # noqa: A001
            for amount in license.iterfind(f"{RSL}payment/{RSL}amount")
            for use in words_of(license, "permits")
        }
        told.append((url_of_content, prices))
    return most_specific(told, url) or set()


def licenses_of(document: bytes) -> list[tuple[str, list[ElementTree.Element]]]:
    return [
        (content.attrib["url"].removeprefix("https://pub.example"), content.findall(f"{RSL}license"))
        for content in ElementTree.fromstring(document)  # noqa: S314 - our own
    ]


def words_of(license: ElementTree.Element, kind: str) -> set[str]:  # noqa: A002
    words = [word for one in license.iter(f"{RSL}{kind}") for word in (one.text or "").split()]
    return set().union(*(NAMES[word] for word in words))


def read_content_usage(document: bytes, url: str) -> set[str]:
    """Return the uses of the Content-Usage line with the longest matching path; no path matches every page."""
    return answered_content_usage(document, url, "y")


def refused_content_usage(document: bytes, url: str) -> set[str]:
    """Return the uses that the Content-Usage line with the longest matching path refuses."""
    return answered_content_usage(document, url, "n")


def answered_content_usage(document: bytes, url: str, answer: str) -> set[str]:
    told = []
    for line in lines_of(document, "Content-Usage"):
        path, _, rest = line.partition(" ") if line.startswith("/") else ("", "", line)
        told.append((path, granted(rest, answer)))
    return most_specific(told, url) or set()


def read_content_signal(document: bytes, url: str) -> set[str]:
    """Return the uses of the group's signal, which applies to every page."""
    return set().union(*(granted(line, "yes") for line in lines_of(document, "Content-Signal")))


def lines_of(document: bytes, name: str) -> list[str]:
    pairs = (line.partition(":") for line in document.decode().splitlines())
    return [value.strip() for key, _, value in pairs if key == name]


def granted(text: str, word: str) -> set[str]:
    pairs = (pair.strip().partition("=") for pair in text.split(","))
    found: set[str] = set().union(*(NAMES[name] for name, _, value in pairs if value == word))
    return found | {"ai_index"} if word in ("y", "yes") and "ai_input" in found else found


def read_tdmrep(document: bytes, url: str) -> set[str]:
    """Return the mining uses (training and input) unless the first matching location reserves them."""
    told: list[dict[str, Any]] = json.loads(document)
    first = next((one for one in told if matches(one["location"], url)), {"tdm-reservation": 0})
    return {"ai_input", "ai_training"} if first["tdm-reservation"] == 0 else set()


READERS = {
    "/license.xml": [read_rsl],
    "/robots.txt": [read_content_usage, read_content_signal],
    "/.well-known/tdmrep.json": [read_tdmrep],
}
