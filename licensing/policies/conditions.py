"""The conditions of rules: each from its JSON to a test of facts (docs/policies.md). No ORM, no HTTP."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from operator import attrgetter
from sys import getsizeof
from typing import Any

from kit.values.timestamps import parse_timestamp, render_timestamp
from licensing.policies.facts import Facts

CONTENT_TYPES = ("article", "report", "image", "dataset", "video")
MAX_VALUES = 500
PERMISSION_PATTERN = "[a-z][a-z0-9_:.-]{0,63}"
IS_PERMISSION = re.compile(PERMISSION_PATTERN).fullmatch


class RuleError(ValueError):
    """What is wrong in a rule, and where: a path such as `[0].conditions.licenseType`."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path, self.message = path, message


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a rule: its name, what it wants (as in the JSON), its test, and what it looks at."""

    name: str
    wanted: Any
    matches: Callable[[Facts], bool]
    saw: Callable[[Facts], Any]

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes, at most (measured: 80 to 180 a value, beside its text)."""
        values = self.wanted if isinstance(self.wanted, list) else [self.wanted]
        return 800 + sum(180 + getsizeof(value) for value in values)


def expect(ok: bool, path: str, message: str) -> None:
    if not ok:
        raise RuleError(path, message)


def text_of(maximum: int) -> Callable[[Any, str], str]:
    def read(value: Any, path: str) -> str:
        expect(isinstance(value, str), path, "Must be a string or an array of strings.")
        expect(1 <= len(value) <= maximum, path, f"Must have 1 to {maximum} characters.")
        return value

    return read


def permission_name(value: Any, path: str) -> str:
    expect(
        isinstance(value, str) and bool(IS_PERMISSION(value)),
        path,
        "Must be a permission: a lower-case letter, then up to 63 of a-z, 0-9, '_', ':', '.' and '-'.",
    )
    return value


def content_type(value: Any, path: str) -> str:
    expect(value in CONTENT_TYPES, path, f"Must be one of: {', '.join(CONTENT_TYPES)}.")
    return value


def network(value: Any, path: str) -> IPv4Network | IPv6Network:
    try:
        if not isinstance(value, str) or "%" in value:  # a scope is of one machine's making
            raise ValueError
        parsed = ip_network(value)
    except ValueError:
        raise RuleError(path, "Must be an IP address or a range without host bits, as 203.0.113.0/24.") from None
    if isinstance(parsed, IPv6Network) and parsed.network_address.ipv4_mapped and parsed.prefixlen >= 96:
        return IPv4Network((parsed.network_address.ipv4_mapped, parsed.prefixlen - 96))
    return parsed


def one_or_more(value: Any, path: str, read: Callable[[Any, str], Any]) -> list[Any]:
    """A value, or an array of them, as a list."""
    if not isinstance(value, list):
        return [read(value, path)]
    expect(0 < len(value) <= MAX_VALUES, path, f"Must have 1 to {MAX_VALUES} values.")
    return [read(member, f"{path}[{index}]") for index, member in enumerate(value)]


def moment(value: Any, path: str) -> datetime:
    expect(isinstance(value, str), path, "Must be a timestamp.")
    try:
        return parse_timestamp(value)
    except ValueError as error:
        raise RuleError(path, str(error)) from None


def member_of(name: str, read: Callable[[Any, str], str], attribute: str) -> Callable[[Any, str], Condition]:
    """A condition on one known value: the attribute of the facts is one of those wanted."""
    look = attrgetter(attribute)

    def build(value: Any, path: str) -> Condition:
        wanted = frozenset(one_or_more(value, path, read))
        return Condition(name, value, lambda facts: look(facts) in wanted, look)

    return build


def build_license_type(value: Any, path: str) -> Condition:
    wanted = frozenset(one_or_more(value, path, text_of(100)))
    return Condition(
        "licenseType",
        value,
        lambda facts: not wanted.isdisjoint(facts.license_types),
        lambda facts: list(facts.license_types) or None,
    )


def build_tags(value: Any, path: str) -> Condition:
    wanted = frozenset(one_or_more(value, path, text_of(100)))
    return Condition("tags", value, lambda facts: not wanted.isdisjoint(facts.tags), lambda facts: sorted(facts.tags))


def build_has_valid_license(value: Any, path: str) -> Condition:
    expect(isinstance(value, bool), path, "Must be true or false.")
    return Condition(
        "hasValidLicense",
        value,
        lambda facts: facts.has_valid_license is value,
        lambda facts: facts.has_valid_license,
    )


def build_ip(value: Any, path: str) -> Condition:
    wanted = one_or_more(value, path, network)
    ranges = {version: AddressRanges(one for one in wanted if one.version == version) for version in (4, 6)}

    def matches(facts: Facts) -> bool:
        return facts.ip is not None and facts.ip in ranges[facts.ip.version]

    return Condition("ip", value, matches, lambda facts: str(facts.ip) if facts.ip else None)


class AddressRanges:
    """Networks of one version, in which an address is found in logarithmic time."""

    def __init__(self, networks: Iterable[Any]) -> None:
        sorted_apart = list(collapse_addresses(networks))
        self.firsts = [int(one[0]) for one in sorted_apart]
        self.lasts = [int(one[-1]) for one in sorted_apart]

    def __contains__(self, address: Any) -> bool:
        place = bisect_right(self.firsts, int(address)) - 1
        return place >= 0 and int(address) <= self.lasts[place]


def build_before(value: Any, path: str) -> Condition:
    end = moment(value, path)
    return Condition("before", value, lambda facts: facts.now < end, lambda facts: render_timestamp(facts.now))


def build_after(value: Any, path: str) -> Condition:
    start = moment(value, path)
    return Condition("after", value, lambda facts: facts.now >= start, lambda facts: render_timestamp(facts.now))


def build_default(value: Any, path: str) -> Condition:
    expect(value is True, path, "Must be true.")
    return Condition("default", True, lambda facts: True, lambda facts: True)


CONDITIONS: dict[str, Callable[[Any, str], Condition]] = {
    "licenseType": build_license_type,
    "hasValidLicense": build_has_valid_license,
    "default": build_default,
    "requesterId": member_of("requesterId", text_of(255), "requester_id"),
    "contentType": member_of("contentType", content_type, "content_type"),
    "tags": build_tags,
    "category": member_of("category", text_of(255), "category"),
    "permission": member_of("permission", permission_name, "permission"),
    "ip": build_ip,
    "before": build_before,
    "after": build_after,
}


def parse_conditions(value: Any, path: str) -> tuple[Condition, ...]:
    expect(isinstance(value, Mapping), path, "Must be an object.")
    expect(bool(value), path, 'Must name a condition. Write {"default": true} for a rule that matches always.')
    for name in value:
        expect(name in CONDITIONS, f"{path}.{name}", f"There is no such condition. Known: {', '.join(CONDITIONS)}.")
    expect("default" not in value or len(value) == 1, f"{path}.default", "Must stand alone.")
    return tuple(CONDITIONS[name](wanted, f"{path}.{name}") for name, wanted in value.items())
