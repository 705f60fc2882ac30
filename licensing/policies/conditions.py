"""The conditions of rules, one table (docs/reference/policies.md): each in JSON, in words, in a form, and its test.

Everything else that knows of conditions is derived from CONDITIONS. No ORM, no HTTP.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from sys import getsizeof
from typing import Any

from kit.values.faults import Faults
from kit.values.timestamps import MOMENT_SCHEMA, render_timestamp
from licensing.policies.condition_values import (
    NETWORK_SCHEMA,
    PERMISSION_SCHEMA,
    AddressRanges,
    Kind,
    Schema,
    expect,
    mapping,
    moment,
    network,
    one_or_more,
    one_or_more_schema,
    permission_name,
    ranges_of,
    text_of,
    text_schema,
)
from licensing.policies.facts import ContentType, Facts, parse_content_type


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a rule: its name, what it wants (as in the JSON), its test, and what it looks at."""

    name: str
    wanted: object
    matches: Callable[[Facts], bool]
    saw: Callable[[Facts], object]

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes, at most (measured: 80 to 180 a value, beside its text)."""
        values = self.wanted if isinstance(self.wanted, list) else [self.wanted]
        return 800 + sum(180 + getsizeof(value) for value in values)


@dataclass(frozen=True, slots=True)
class ConditionType:
    """All that is particular to a condition."""

    name: str
    kind: Kind
    build: Callable[[object, str], Condition]  # from its JSON and its path in the rules; raises Fault
    schema: Schema
    holds_if: str  # for docs/reference/policies.md
    words: str  # the clause of a sentence, `{}` being what is wanted
    place: int  # of its clause in a sentence, and of its field in a form
    words_if_false: str = ""  # of a flag
    label: str = ""  # of its field
    hint: str = ""
    choices: tuple[str, ...] = ()

    def clause(self, wanted: object) -> str:
        return self.words_if_false if wanted is False else self.words.format(any_of(wanted))


def values_of(wanted: object) -> list[Any]:
    """The values of a condition as its type has read them: texts, or a flag."""
    return wanted if isinstance(wanted, list) else [wanted]


def any_of(wanted: object) -> str:
    values = [str(value) for value in values_of(wanted)]
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} or {values[-1]}"


# --- Tests -----------------------------------------------------------------------------------------------------------


def member_of(name: str, read: Callable[[object, str], str], attribute: str) -> Callable[[object, str], Condition]:
    """A condition on one known value: the attribute of the facts is one of those wanted."""
    look = attrgetter(attribute)

    def build(value: object, path: str) -> Condition:
        wanted = frozenset(one_or_more(value, path, read))
        return Condition(name, value, lambda facts: look(facts) in wanted, look)

    return build


def build_license_type(value: object, path: str) -> Condition:
    wanted = frozenset(one_or_more(value, path, text_of(100)))
    return Condition(
        "licenseType",
        value,
        lambda facts: not wanted.isdisjoint(facts.license_types),
        lambda facts: list(facts.license_types) or None,
    )


def build_tags(value: object, path: str) -> Condition:
    wanted = frozenset(one_or_more(value, path, text_of(100)))
    return Condition("tags", value, lambda facts: not wanted.isdisjoint(facts.tags), lambda facts: sorted(facts.tags))


def build_has_valid_license(value: object, path: str) -> Condition:
    expect(isinstance(value, bool), path, "Must be true or false.")
    return Condition(
        "hasValidLicense",
        value,
        lambda facts: facts.has_valid_license is value,
        lambda facts: facts.has_valid_license,
    )


def build_ip(value: object, path: str) -> Condition:
    ranges = {version: AddressRanges(of) for version, of in ranges_of(one_or_more(value, path, network)).items()}

    def matches(facts: Facts) -> bool:
        return facts.ip is not None and facts.ip in ranges[facts.ip.version]

    return Condition("ip", value, matches, lambda facts: str(facts.ip) if facts.ip else None)


def build_before(value: object, path: str) -> Condition:
    end = moment(value, path)
    return Condition("before", value, lambda facts: facts.now < end, lambda facts: render_timestamp(facts.now))


def build_after(value: object, path: str) -> Condition:
    start = moment(value, path)
    return Condition("after", value, lambda facts: facts.now >= start, lambda facts: render_timestamp(facts.now))


def build_default(value: object, path: str) -> Condition:
    expect(value is True, path, "Must be true.")
    return Condition("default", True, lambda facts: True, lambda facts: True)


# --- The table -------------------------------------------------------------------------------------------------------

TYPES = (
    ConditionType(
        name="licenseType",
        kind=Kind.VALUES,
        build=build_license_type,
        schema=one_or_more_schema(text_schema(100), "LicenseTypes"),
        holds_if="the requester's licence is of that type, or of one of those types",
        words="the licence is of type {}",
        place=2,
        label="Licence type",
        hint="commercial",
    ),
    ConditionType(
        name="hasValidLicense",
        kind=Kind.FLAG,
        build=build_has_valid_license,
        schema={"type": "boolean"},
        holds_if="the requester has a valid licence; `false`: has none that is known",
        words="the licence is valid",
        words_if_false="no licence is known to be valid",
        place=3,
        label="Valid licence",
    ),
    ConditionType(
        name="default",
        kind=Kind.ALWAYS,
        build=build_default,
        schema={"type": "boolean", "const": True},
        holds_if="always; `true` is its only value, and it stands alone",
        words="always",
        place=0,
        label="Always: matches every check, and stands alone",
    ),
    ConditionType(
        name="requesterId",
        kind=Kind.VALUES,
        build=member_of("requesterId", text_of(255), "requester_id"),
        schema=one_or_more_schema(text_schema(255), "RequesterIds"),
        holds_if="it is that requester, or one of those",
        words="the requester is {}",
        place=1,
        label="Requester",
        hint="org_acme",
    ),
    ConditionType(
        name="contentType",
        kind=Kind.CHOICES,
        build=member_of("contentType", parse_content_type, "content_type"),
        schema=one_or_more_schema({"type": "string", "enum": list(map(str, ContentType))}, "ContentTypes"),
        holds_if="the item is of that type, or of one of those types",
        words="the item is of type {}",
        place=4,
        label="Type of the item",
        choices=tuple(map(str, ContentType)),
    ),
    ConditionType(
        name="tags",
        kind=Kind.VALUES,
        build=build_tags,
        schema=one_or_more_schema(text_schema(100), "Tags"),
        holds_if="the item has that tag, or one of those tags",
        words="the item has the tag {}",
        place=6,
        label="Tag of the item",
        hint="embargo",
    ),
    ConditionType(
        name="category",
        kind=Kind.VALUES,
        build=member_of("category", text_of(255), "category"),
        schema=one_or_more_schema(text_schema(255), "Categories"),
        holds_if="the item is in that category, or in one of those",
        words="the item is in {}",
        place=5,
        label="Category of the item",
        hint="finance",
    ),
    ConditionType(
        name="permission",
        kind=Kind.VALUES,
        build=member_of("permission", permission_name, "permission"),
        schema=one_or_more_schema(PERMISSION_SCHEMA, "Permissions"),
        holds_if="that is the permission asked for",
        words="{} is asked for",
        place=7,
        label="Permission asked for",
        hint="commercial_use",
    ),
    ConditionType(
        name="ip",
        kind=Kind.NETWORKS,
        build=build_ip,
        schema=one_or_more_schema(NETWORK_SCHEMA, "AddressRanges"),
        holds_if="the address in the check's `context` is one of those, or in one of those ranges",
        words="the address is in {}",
        place=8,
        label="Address or range",
        hint="203.0.113.0/24",
    ),
    ConditionType(
        name="before",
        kind=Kind.MOMENT,
        build=build_before,
        schema=MOMENT_SCHEMA,
        holds_if="it is earlier than that moment",
        words="it is before {}",
        place=10,
        label="Until",
        hint="2026-12-31 or 2026-12-31T12:00:00Z",
    ),
    ConditionType(
        name="after",
        kind=Kind.MOMENT,
        build=build_after,
        schema=MOMENT_SCHEMA,
        holds_if="it is that moment or later",
        words="it is {} or later",
        place=9,
        label="From",
        hint="2026-01-31 or 2026-01-31T12:00:00Z",
    ),
)
CONDITIONS = {one.name: one for one in TYPES}
UNKNOWN = f"There is no such condition. Known: {', '.join(CONDITIONS)}."
IN_WORDS = tuple(sorted(TYPES, key=attrgetter("place")))


def names_of(*kinds: Kind) -> tuple[str, ...]:
    """The conditions of these kinds, in the order of a sentence."""
    return tuple(one.name for one in IN_WORDS if one.kind in kinds)


def parse_conditions(value: object, path: str) -> tuple[Condition, ...]:
    named = mapping(value, path)
    expect(bool(named), path, 'Must name a condition. Write {"default": true} for a rule that matches always.')
    faults = Faults()
    for name in named:
        faults.expect(
            name in CONDITIONS, f"{path}.{name}", f"There is no such condition. Known: {', '.join(CONDITIONS)}."
        )
    faults.expect("default" not in named or len(named) == 1, f"{path}.default", "Must stand alone.")
    conditions = []
    for name, wanted in named.items():
        if name in CONDITIONS:
            with faults:
                conditions.append(CONDITIONS[name].build(wanted, f"{path}.{name}"))
    faults.raise_first()
    return tuple(conditions)
