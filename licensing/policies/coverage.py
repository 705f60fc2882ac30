"""Which rules cover which: whatever the one matches, the other does too. Pure, and sound rather than complete."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from ipaddress import collapse_addresses
from typing import Any

from licensing.policies.conditions import CONTENT_TYPES, moment, network
from licensing.policies.rules import Rule

Ranges = dict[int, list[Any]]  # by the version of the addresses, networks apart from each other


def values(wanted: Any) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]


def ranges_of(wanted: Any) -> Ranges:
    networks: list[Any] = [network(one, "") for one in values(wanted)]
    return {version: list(collapse_addresses(one for one in networks if one.version == version)) for version in (4, 6)}


def within(inner: Iterable[Any], outer: Iterable[Any]) -> bool:
    """Whether each network of the one is inside a network of the other. Both are collapsed, and so in order."""
    rest = iter(outer)
    around = next(rest, None)
    for one in inner:
        while around is not None and around.broadcast_address < one.network_address:
            around = next(rest, None)
        if around is None or not one.subnet_of(around):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Covered:
    """A rule with its conditions in a form that can be compared; `now` is the earliest moment that counts."""

    rule: Rule
    among: dict[str, frozenset[str]]  # conditions that want one of these values
    valid: bool | None
    ranges: Ranges | None
    before: datetime | None
    after: datetime | None
    now: datetime

    @classmethod
    def of(cls, rule: Rule, now: datetime) -> "Covered":
        wanted = {condition.name: condition.wanted for condition in rule.conditions}
        lists = ("licenseType", "requesterId", "contentType", "tags", "category", "permission")
        return cls(
            rule=rule,
            among={name: frozenset(values(wanted[name])) for name in lists if name in wanted},
            valid=wanted.get("hasValidLicense"),
            ranges=ranges_of(wanted["ip"]) if "ip" in wanted else None,
            before=moment(wanted["before"], "") if "before" in wanted else None,
            after=moment(wanted["after"], "") if "after" in wanted else None,
            now=now,
        )

    @property
    def empty(self) -> bool:
        return self.before is not None and self.after is not None and self.before <= self.after

    @property
    def ended(self) -> bool:
        return self.before is not None and self.before <= self.now

    @property
    def begun(self) -> bool:
        return self.after is not None and self.after <= self.now

    def covers(self, other: "Covered") -> bool:
        """Whether from `now` on this rule matches whatever the other does: each of its conditions is implied."""
        for name, wanted in self.among.items():
            every = name == "contentType" and wanted.issuperset(CONTENT_TYPES)
            if not every and not (name in other.among and other.among[name] <= wanted):
                return False
        if self.valid is not None and self.valid is not other.valid:
            return False
        if self.before is not None and (other.before is None or other.before > self.before):
            return False
        if self.after is not None and not self.begun and (other.after is None or other.after < self.after):
            return False
        return self.ranges is None or (
            other.ranges is not None and all(within(other.ranges[one], self.ranges[one]) for one in (4, 6))
        )
