"""The values that conditions want: read from the JSON of a rule, and their JSON Schema. No ORM, no HTTP."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import Any

from kit.values.timestamps import parse_timestamp
from licensing.policies.facts import ContentType

MAX_VALUES = 500
PERMISSION_PATTERN = "[a-z][a-z0-9_:.-]{0,63}"
IS_PERMISSION = re.compile(PERMISSION_PATTERN).fullmatch

Schema = dict[str, Any]


class RuleError(ValueError):
    """What is wrong in a rule, and where: a path such as `[0].conditions.licenseType`."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path, self.message = path, message


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
    expect(value in list(ContentType), path, f"Must be one of: {', '.join(ContentType)}.")
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


class AddressRanges:
    """Networks of one version, in which an address is found in logarithmic time."""

    def __init__(self, networks: Iterable[Any]) -> None:
        sorted_apart = list(collapse_addresses(networks))
        self.firsts = [int(one[0]) for one in sorted_apart]
        self.lasts = [int(one[-1]) for one in sorted_apart]

    def __contains__(self, address: Any) -> bool:
        place = bisect_right(self.firsts, int(address)) - 1
        return place >= 0 and int(address) <= self.lasts[place]


# --- JSON Schema -----------------------------------------------------------------------------------------------------


def text_schema(maximum: int) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": maximum}


def one_or_more_schema(member: Schema) -> Schema:
    return {"oneOf": [member, {"type": "array", "items": member, "minItems": 1, "maxItems": MAX_VALUES}]}


PERMISSION_SCHEMA: Schema = {"type": "string", "pattern": f"^{PERMISSION_PATTERN}$", "example": "commercial_use"}
TIMESTAMP_SCHEMA: Schema = {"type": "string", "format": "date-time"}
NETWORK_SCHEMA: Schema = {
    "type": "string",
    "format": "ip-range",
    "description": "An address or a CIDR range without host bits.",
    "example": "203.0.113.0/24",
}
