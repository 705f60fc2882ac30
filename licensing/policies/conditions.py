"""The table of rule conditions (docs/reference/policies.md): JSON, wording, form field and test of each.

Everything else about conditions is derived from CONDITIONS. Uses neither ORM nor HTTP.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter, eq
from sys import getsizeof
from typing import Any

from kit.values.faults import Fault, FaultKind, Faults
from kit.values.suggestions import did_you_mean
from kit.values.timestamps import MOMENT_SCHEMA, render_timestamp
from licensing.policies.condition_values import (
    NETWORK_SCHEMA,
    PERMISSION_SCHEMA,
    AddressRanges,
    ConditionKind,
    Schema,
    address_ranges,
    as_list,
    expect,
    join_alternatives,
    one_or_more_schema,
    parse_flag,
    parse_moment,
    parse_network,
    parse_one_or_more,
    parse_permission,
    require_object,
    text_reader,
    text_schema,
)
from licensing.policies.facts import ContentType, Facts, parse_content_type
from licensing.policies.matching import attribute_conditions, attribute_text, attributes, schedule_text, schedules

CONDITIONS_SHAPE = 'Must be an object such as {"licenseType": "commercial"}, or {"default": true} for all requesters.'


def describe_values(value: object) -> str:
    return join_alternatives(list(map(str, as_list(value))))


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a rule: its name, JSON value, test, and the fact it looks at."""

    name: str
    value: object
    matches: Callable[[Facts], bool]
    saw: Callable[[Facts], object]
    moments: tuple[datetime, ...] = ()  # when time alone may change its result
    next_change: Callable[[datetime], datetime | None] | None = None  # same, for recurring conditions
    comparisons: int = 1  # that its test may take

    @property
    def values(self) -> list[Any]:
        return as_list(self.value)

    @property
    def size(self) -> int:
        """Upper estimate of its memory in bytes (measured: 80 to 180 per value, plus its text)."""
        return 800 + sum(180 + getsizeof(value) for value in leaves(self.value))


def itself(value: object) -> object:
    return value


@dataclass(frozen=True, slots=True)
class ConditionType:
    """Everything specific to one type of condition."""

    name: str
    kind: ConditionKind
    reads: str  # the attribute of Facts that it tests; empty for none
    build: Callable[[object, str], Condition]  # from its JSON and its path in the rules; raises Fault
    schema: Schema
    holds_if: str  # for docs/reference/policies.md
    words: str  # clause of a sentence; `{}` stands for the value
    position: int  # in sentences and forms
    words_if_false: str = ""  # clause of a flag that is false
    label: str = ""  # of its form field
    hint: str = ""
    choices: tuple[str, ...] = ()
    # Only for ConditionKind.OTHER; arguments are its JSON:
    in_words: Callable[[object], str] = describe_values  # for `words`
    text: Callable[[object], str] = str  # text of its form field
    read_text: Callable[[str], object] = (
        str  # parses that text; returns malformed text unchanged, for validation to reject
    )
    form_rule: str = ""  # error message for malformed text
    comparable: Callable[[object], object] = itself  # its JSON in the form that `covers` compares
    covers: Callable[..., bool] = eq  # whether the first holds wherever the second does
    never: Callable[[object], str] = lambda value: ""  # why it can never hold; empty if it can

    def clause(self, value: object) -> str:
        return self.words_if_false if value is False else self.words.format(self.in_words(value))


def leaves(value: object) -> Iterator[object]:
    """Yield all scalar values in a condition's JSON, and its keys."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from leaves(member)
    elif isinstance(value, list):
        for member in value:
            yield from leaves(member)
    else:
        yield value


# --- Tests -----------------------------------------------------------------------------------------------------------


def membership_test(
    name: str, read: Callable[[object, str], str], attribute: str
) -> Callable[[object, str], Condition]:
    """Build a condition that tests whether an attribute of the facts is one of the given values."""
    look = attrgetter(attribute)

    def build(value: object, path: str) -> Condition:
        allowed_values = frozenset(parse_one_or_more(value, path, read))
        return Condition(name, value, lambda facts: look(facts) in allowed_values, look)

    return build


def build_license_type(value: object, path: str) -> Condition:
    allowed_values = frozenset(parse_one_or_more(value, path, text_reader(100)))
    return Condition(
        "licenseType",
        value,
        lambda facts: not allowed_values.isdisjoint(facts.license_types),
        lambda facts: list(facts.license_types) or None,
    )


def build_tags(value: object, path: str) -> Condition:
    allowed_values = frozenset(parse_one_or_more(value, path, text_reader(100)))
    return Condition(
        "tags", value, lambda facts: not allowed_values.isdisjoint(facts.tags), lambda facts: sorted(facts.tags)
    )


def build_has_valid_license(value: object, path: str) -> Condition:
    expected = parse_flag(value, path)
    return Condition(
        "hasValidLicense",
        value,
        lambda facts: facts.has_valid_license is expected,
        lambda facts: facts.has_valid_license,
    )


def build_ip(value: object, path: str) -> Condition:
    ranges = {
        version: AddressRanges(of)
        for version, of in address_ranges(parse_one_or_more(value, path, parse_network)).items()
    }

    def matches(facts: Facts) -> bool:
        return facts.ip is not None and facts.ip in ranges[facts.ip.version]

    return Condition("ip", value, matches, lambda facts: str(facts.ip) if facts.ip else None)


def format_time(facts: Facts) -> object:
    return render_timestamp(facts.now)


def build_before(value: object, path: str) -> Condition:
    end = parse_moment(value, path)
    return Condition("before", value, lambda facts: facts.now < end, format_time, (end,))


def build_after(value: object, path: str) -> Condition:
    start = parse_moment(value, path)
    return Condition("after", value, lambda facts: facts.now >= start, format_time, (start,))


def build_attributes(value: object, path: str) -> Condition:
    comparisons = attribute_conditions.parse_comparisons(value, path)
    pairs = tuple(comparisons.items())

    def matches(facts: Facts) -> bool:
        values = facts.attributes or {}
        return all(comparison.holds(values.get(name)) for name, comparison in pairs)

    def saw(facts: Facts) -> object:
        values = facts.attributes or {}
        return attributes.dump_attributes({name: values[name] for name in comparisons if name in values}) or None

    return Condition("attributes", value, matches, saw, comparisons=len(comparisons))


def build_schedule(value: object, path: str) -> Condition:
    schedule = schedules.CurrentSchedule(schedules.parse_schedule(value, path))
    return Condition(
        "schedule", value, lambda facts: schedule.holds(facts.now), format_time, next_change=schedule.next_change
    )


def build_default(value: object, path: str) -> Condition:
    expect(value is True, path, "Must be true.")
    return Condition("default", True, lambda facts: True, lambda facts: True)


# --- The table -------------------------------------------------------------------------------------------------------

TYPES = (
    ConditionType(
        name="licenseType",
        kind=ConditionKind.VALUES,
        reads="license_types",
        build=build_license_type,
        schema=one_or_more_schema(text_schema(100), "LicenseTypes"),
        holds_if="the requester has a licence of this type, or of one of these types",
        words="the licence is of type {}",
        position=2,
        label="Licence type",
        hint="commercial",
    ),
    ConditionType(
        name="hasValidLicense",
        kind=ConditionKind.FLAG,
        reads="has_valid_license",
        build=build_has_valid_license,
        schema={"type": "boolean"},
        holds_if="the requester has a valid licence; `false`: no valid licence is known",
        words="the licence is valid",
        words_if_false="no licence is known to be valid",
        position=3,
        label="Valid licence",
    ),
    ConditionType(
        name="default",
        kind=ConditionKind.ALWAYS,
        reads="",
        build=build_default,
        schema={"type": "boolean", "const": True},
        holds_if="always. `true` is the only value, and no other condition may stand beside it",
        words="always",
        position=0,
        label="Always: matches every check, and stands alone",
    ),
    ConditionType(
        name="requesterId",
        kind=ConditionKind.VALUES,
        reads="requester_id",
        build=membership_test("requesterId", text_reader(255), "requester_id"),
        schema=one_or_more_schema(text_schema(255), "RequesterIds"),
        holds_if="the requester has this id, or one of these ids",
        words="the customer is {}",
        position=1,
        label="Customer",
        hint="org_acme",
    ),
    ConditionType(
        name="contentType",
        kind=ConditionKind.CHOICES,
        reads="content_type",
        build=membership_test("contentType", parse_content_type, "content_type"),
        schema=one_or_more_schema({"type": "string", "enum": list(map(str, ContentType))}, "ContentTypes"),
        holds_if="the item has this type, or one of these types",
        words="the item is of type {}",
        position=4,
        label="Type of the item",
        choices=tuple(map(str, ContentType)),
    ),
    ConditionType(
        name="tags",
        kind=ConditionKind.VALUES,
        reads="tags",
        build=build_tags,
        schema=one_or_more_schema(text_schema(100), "Tags"),
        holds_if="the item has this tag, or one of these tags",
        words="the item has the tag {}",
        position=6,
        label="Tag of the item",
        hint="embargo",
    ),
    ConditionType(
        name="category",
        kind=ConditionKind.VALUES,
        reads="category",
        build=membership_test("category", text_reader(255), "category"),
        schema=one_or_more_schema(text_schema(255), "Categories"),
        holds_if="the item is in this category, or in one of these categories",
        words="the item is in {}",
        position=5,
        label="Category of the item",
        hint="finance",
    ),
    ConditionType(
        name="permission",
        kind=ConditionKind.VALUES,
        reads="permission",
        build=membership_test("permission", parse_permission, "permission"),
        schema=one_or_more_schema(PERMISSION_SCHEMA, "Permissions"),
        holds_if="the check asks for this permission",
        words="{} is asked for",
        position=7,
        label="Requested permission",
        hint="commercial_use",
    ),
    ConditionType(
        name="ip",
        kind=ConditionKind.NETWORKS,
        reads="ip",
        build=build_ip,
        schema=one_or_more_schema(NETWORK_SCHEMA, "AddressRanges"),
        holds_if="the address in the check's `context` is one of these, or in one of these ranges",
        words="the address is in {}",
        position=8,
        label="Address or range",
        hint="203.0.113.0/24",
    ),
    ConditionType(
        name="before",
        kind=ConditionKind.MOMENT,
        reads="now",
        build=build_before,
        schema=MOMENT_SCHEMA,
        holds_if="the check is before this time",
        words="it is before {}",
        position=10,
        label="Until",
        hint="2026-12-31 or 2026-12-31T12:00:00Z",
    ),
    ConditionType(
        name="after",
        kind=ConditionKind.MOMENT,
        reads="now",
        build=build_after,
        schema=MOMENT_SCHEMA,
        holds_if="the check is at this time or later",
        words="it is {} or later",
        position=9,
        label="From",
        hint="2026-01-31 or 2026-01-31T12:00:00Z",
    ),
    ConditionType(
        name="attributes",
        kind=ConditionKind.OTHER,
        reads="attributes",
        build=build_attributes,
        schema=attribute_conditions.CONDITION_SCHEMA,
        holds_if="each named attribute of the requester has this value or one of these, or lies within these bounds",
        words="{}",
        position=11,
        label="Attributes of the customer",
        hint="country = DE, AT",
        in_words=attribute_text.clause_of_attributes,
        text=attribute_text.lines_of_condition,
        read_text=attribute_text.read_condition,
        form_rule=attribute_text.FORM_RULE,
        comparable=attribute_conditions.parse_comparisons,
        covers=attribute_conditions.covers_attributes,
        never=attribute_conditions.never_attributes,
    ),
    ConditionType(
        name="schedule",
        kind=ConditionKind.OTHER,
        reads="now",
        build=build_schedule,
        schema=schedules.CONDITION_SCHEMA,
        holds_if="the check is within these days and hours, in this time zone",
        words="{}",
        position=12,
        label="Days and hours",
        hint="mon-fri 09:00-18:00 Europe/Berlin",
        in_words=schedule_text.clause_of_schedule,
        text=schedule_text.text_of_schedule,
        read_text=schedule_text.read_schedule,
        form_rule=schedule_text.FORM_RULE,
        comparable=schedules.comparable_schedule,
        covers=schedules.covers_schedule,
    ),
)
CONDITIONS = {condition_type.name: condition_type for condition_type in TYPES}
UNKNOWN = f"There is no such condition. Known: {', '.join(CONDITIONS)}."
CONDITIONS_IN_ORDER = tuple(sorted(TYPES, key=attrgetter("position")))


def condition_names(*kinds: ConditionKind) -> tuple[str, ...]:
    """Return the names of conditions of these kinds, in sentence order."""
    return tuple(condition_type.name for condition_type in CONDITIONS_IN_ORDER if condition_type.kind in kinds)


def parse_conditions(value: object, path: str) -> tuple[Condition, ...]:
    values_by_name = require_object(value, path, CONDITIONS_SHAPE)
    expect(
        bool(values_by_name), path, 'Must name a condition. Write {"default": true} for a rule that matches always.'
    )
    faults = Faults()
    for name in values_by_name:
        if name not in CONDITIONS:
            faults.add(Fault(f"{path}.{name}", f"{UNKNOWN}{did_you_mean(name, CONDITIONS)}", FaultKind.UNKNOWN))
    faults.expect("default" not in values_by_name or len(values_by_name) == 1, f"{path}.default", "Must stand alone.")
    conditions = []
    for name, condition_value in values_by_name.items():
        if name in CONDITIONS:
            with faults:
                conditions.append(CONDITIONS[name].build(condition_value, f"{path}.{name}"))
    faults.raise_first()
    return tuple(conditions)
