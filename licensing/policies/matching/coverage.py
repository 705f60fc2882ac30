"""Determine which rules cover others, that is, match whatever they match. Sound, but not complete."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from licensing.policies.condition_values import (
    ConditionKind,
    Range,
    address_ranges,
    as_list,
    parse_moment,
    parse_network,
    parse_one_or_more,
)
from licensing.policies.conditions import CONDITIONS, condition_names, leaves
from licensing.policies.matching.schedules import parse_schedule
from licensing.policies.rules import Rule

CHOICE_CONDITIONS = condition_names(ConditionKind.VALUES, ConditionKind.CHOICES)
LICENSE_CONDITIONS = ("licenseType", "hasValidLicense")
FLAG_CONDITIONS = condition_names(ConditionKind.FLAG)
OTHER_CONDITIONS = condition_names(ConditionKind.OTHER)


def lie_within(inner: Iterable[Range], outer: Iterable[Range]) -> bool:
    """Return whether each inner range lies within an outer one. Both must be disjoint and sorted."""
    remaining = iter(outer)
    candidate = next(remaining, None)
    for first, last in inner:
        while candidate is not None and candidate[1] < first:
            candidate = next(remaining, None)
        if candidate is None or first < candidate[0] or last > candidate[1]:
            return False
    return True


@dataclass(frozen=True, slots=True)
class ComparableRule:
    """A rule with its conditions in comparable form. `now` is the earliest moment considered."""

    rule: Rule
    choices: dict[str, frozenset[str]]  # conditions on one of several values
    flags: dict[str, object]
    ranges: dict[str, dict[int, list[Range]]]  # by IP version
    others: dict[str, object]  # JSON of conditions of ConditionKind.OTHER
    comparable: dict[str, object]  # the same, in the form that their types compare
    size: int  # number of values that a comparison looks at
    before: datetime | None
    after: datetime | None
    now: datetime

    @classmethod
    def from_rule(cls, rule: Rule, now: datetime) -> "ComparableRule":
        condition_values = {condition.name: condition.value for condition in rule.conditions}
        return cls(
            rule=rule,
            choices={
                name: frozenset(as_list(condition_values[name]))
                for name in CHOICE_CONDITIONS
                if name in condition_values
            },
            flags={name: condition_values[name] for name in FLAG_CONDITIONS if name in condition_values},
            ranges={
                name: address_ranges(parse_one_or_more(condition_values[name], "", parse_network))
                for name in condition_names(ConditionKind.NETWORKS)
                if name in condition_values
            },
            others={name: condition_values[name] for name in OTHER_CONDITIONS if name in condition_values},
            comparable={
                name: CONDITIONS[name].comparable(condition_values[name])
                for name in OTHER_CONDITIONS
                if name in condition_values
            },
            size=1 + sum(1 for value in condition_values.values() for _ in leaves(value)),
            before=parse_moment(condition_values["before"], "") if "before" in condition_values else None,
            after=parse_moment(condition_values["after"], "") if "after" in condition_values else None,
            now=now,
        )

    @property
    def license_conditions(self) -> list[str]:
        """The names of its conditions on licences."""
        return [name for name in LICENSE_CONDITIONS if name in self.choices or name in self.flags]

    def with_license(self, license_type: str | None) -> "ComparableRule":
        """Return the part with a valid licence of this type; None means any type."""
        choices = self.choices if license_type is None else {**self.choices, "licenseType": frozenset([license_type])}
        return replace(self, choices=choices, flags={**self.flags, "hasValidLicense": True})

    @property
    def without_license(self) -> "ComparableRule":
        """Return the part without a valid licence."""
        return replace(self, flags={**self.flags, "hasValidLicense": False})

    @property
    def is_empty(self) -> bool:
        return self.before is not None and self.after is not None and self.before <= self.after

    @property
    def has_ended(self) -> bool:
        return self.before is not None and self.before <= self.now

    @property
    def has_begun(self) -> bool:
        return self.after is not None and self.after <= self.now

    @property
    def is_never_open(self) -> bool:
        """Return whether its schedule never holds between its `after` (or now) and its `before`."""
        if self.before is None or "schedule" not in self.others:
            return False
        first = parse_schedule(self.others["schedule"], "").next_hold(max(self.now, self.after or self.now))
        return first is not None and first >= self.before

    def covers(self, other: "ComparableRule") -> bool:
        """Return whether, from `now` on, this rule matches whatever the other matches."""
        for name, allowed_values in self.choices.items():
            all_values = CONDITIONS[name].choices
            allows_every_value = bool(all_values) and allowed_values.issuperset(all_values)
            if not allows_every_value and not (name in other.choices and other.choices[name] <= allowed_values):
                return False
        if any(other.flags.get(name) is not expected for name, expected in self.flags.items()):
            return False
        for name, condition in self.comparable.items():
            if name not in other.comparable or not CONDITIONS[name].covers(condition, other.comparable[name]):
                return False
        if self.before is not None and (other.before is None or other.before > self.before):
            return False
        if self.after is not None and not self.has_begun and (other.after is None or other.after < self.after):
            return False
        return all(
            name in other.ranges
            and all(lie_within(other.ranges[name][version], networks[version]) for version in (4, 6))
            for name, networks in self.ranges.items()
        )
