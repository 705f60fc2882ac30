"""Values of conditions: parsing them from a rule's JSON, and their JSON Schema. Uses neither ORM nor HTTP."""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum, auto
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any, TypeVar

from kit.openapi.components import COMPONENT
from kit.values.faults import REQUIRED, Fault, FaultKind, Faults, read_each
from kit.values.networks import RANGE_SCHEMA, Network, as_ipv4, merge_networks
from kit.values.timestamps import parse_timestamp

MAX_VALUES = 500
PERMISSION_PATTERN = "[a-z][a-z0-9_:.-]{0,63}"
match_permission = re.compile(PERMISSION_PATTERN).fullmatch
PERMISSION_RULE = "Must be a permission: a lower-case letter, then up to 63 of a-z, 0-9, '_', ':', '.' and '-'."

T = TypeVar("T")
D = TypeVar("D")
Range = tuple[int, int]  # first and last address, as integers
Schema = dict[str, object]


class ConditionKind(Enum):
    """The shape of a condition's value."""

    ALWAYS = auto()  # true; must be the only condition
    FLAG = auto()  # true or false
    VALUES = auto()  # one of several texts
    CHOICES = auto()  # one of a few known texts
    NETWORKS = auto()  # inside one of several ranges of addresses
    MOMENT = auto()
    OTHER = auto()  # such as a number or an object: the ConditionType defines its text form


def expect(ok: bool, path: str, message: str) -> None:
    if not ok:
        raise Fault(path, message)


def require_object(value: object, path: str, message: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise Fault(path, message)
    return value


class Fields:
    """The fields of a JSON object, each parsed separately. `faults.raise_first` raises the collected faults."""

    def __init__(
        self, value: object, path: str, known_names: Collection[str], required: Iterable[str], message: str
    ) -> None:
        """Raises Fault with the message if the value is not an object."""
        self.given = require_object(value, path, message)
        self.path = path
        self.faults = Faults()
        self.faults.expect_known(self.given, known_names, path)
        for name in required:
            self.faults.expect(name in self.given, f"{path}.{name}", REQUIRED, FaultKind.MISSING)

    def read(self, name: str, parse: Callable[[object, str], T], default: D) -> T | D:
        """Parse the field with `parse(value, path)`. Returns the default if it is absent or invalid."""
        if name in self.given:
            with self.faults:
                return parse(self.given[name], f"{self.path}.{name}")
        return default


def integer_reader(low: int, high: int) -> Callable[[object, str], int]:
    def read(value: object, path: str) -> int:
        if type(value) is not int or not low <= value <= high:
            raise Fault(path, f"Must be an integer from {low:,} to {high:,}.")
        return value

    return read


def choice_reader(choices: Sequence[str], message: str) -> Callable[[object, str], str]:
    def read(value: object, path: str) -> str:
        if not isinstance(value, str) or value not in choices:
            raise Fault(path, message)
        return value

    return read


def text_reader(maximum: int) -> Callable[[object, str], str]:
    def read(value: object, path: str) -> str:
        if not isinstance(value, str):
            raise Fault(path, "Must be a string or an array of strings.")
        expect(1 <= len(value) <= maximum, path, f"Must have 1 to {maximum} characters.")
        return value

    return read


def parse_flag(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        raise Fault(path, "Must be true or false.")
    return value


def parse_permission(value: object, path: str) -> str:
    if not isinstance(value, str) or not match_permission(value):
        raise Fault(path, PERMISSION_RULE)
    return value


def parse_network(value: object, path: str) -> Network:
    try:
        if not isinstance(value, str) or "%" in value:  # IPv6 scopes are local to one machine
            raise ValueError
        return as_ipv4(ip_network(value))
    except ValueError:
        raise Fault(path, "Must be an IP address or a range without host bits, as 203.0.113.0/24.") from None


def parse_one_or_more(value: object, path: str, parse: Callable[[object, str], T]) -> list[T]:
    """Parse a value or an array of values into a list."""
    if not isinstance(value, list):
        return [parse(value, path)]
    expect(0 < len(value) <= MAX_VALUES, path, f"Must have 1 to {MAX_VALUES} values.")
    return read_each(value, path, parse)


def as_list(value: object) -> list[Any]:
    """Return the values of a condition as a list."""
    return value if isinstance(value, list) else [value]


def join_alternatives(texts: Sequence[str]) -> str:
    """Join texts as "a", or as "a, b or c"."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


def parse_moment(value: object, path: str) -> datetime:
    if not isinstance(value, str):
        raise Fault(path, "Must be a timestamp.")
    try:
        return parse_timestamp(value)
    except ValueError as error:
        raise Fault(path, str(error)) from None


def address_ranges(networks: Iterable[Network]) -> dict[int, list[Range]]:
    """Return disjoint, sorted ranges of addresses by IP version."""
    ranges: dict[int, list[Range]] = {4: [], 6: []}
    for network in merge_networks(networks):
        ranges[network.version].append((int(network[0]), int(network[-1])))
    return ranges


class AddressRanges:
    """Ranges of one IP version, searched in logarithmic time."""

    def __init__(self, ranges: Iterable[Range]) -> None:
        self.firsts = []
        self.lasts = []
        for first, last in ranges:
            self.firsts.append(first)
            self.lasts.append(last)

    def __contains__(self, address: IPv4Address | IPv6Address) -> bool:
        index = bisect_right(self.firsts, int(address)) - 1
        return index >= 0 and int(address) <= self.lasts[index]


# --- JSON Schema -----------------------------------------------------------------------------------------------------


def text_schema(maximum: int) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": maximum}


def one_or_more_schema(member: Schema, plural: str) -> Schema:
    """Schema of a value or a list of values. The list is a component, because Java generators cannot name it
    otherwise.
    """
    array = {COMPONENT: plural, "type": "array", "items": member, "minItems": 1, "maxItems": MAX_VALUES}
    return {"oneOf": [member, array]}


PERMISSION_SCHEMA: Schema = {"type": "string", "pattern": f"^{PERMISSION_PATTERN}$", "example": "commercial_use"}
NETWORK_SCHEMA: Schema = {**RANGE_SCHEMA, "description": "An address or a CIDR range without host bits."}
