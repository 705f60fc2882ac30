"""Collect all faults of a check's body. Runs only after a body was rejected, so valid ones pay nothing."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import UnionType
from typing import Annotated, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo

from kit.http.errors import ValidationFailed
from kit.values.faults import NO_SUCH_FIELD, REQUIRED, Fault, FaultKind, Faults, fault_message
from kit.values.suggestions import MAX_SUGGESTIONS, field_hints
from licensing.policies.condition_values import PERMISSION_RULE

B = TypeVar("B", bound=Struct)

# Reports a fault: path of the check, its field, message, and the part of the body that is wrong.
Tell = Callable[[str, str, str, object], None]

ABSENT = object()
UNIONS = (Union, UnionType)
URL_RULE = "Must be an http(s) URL such as https://example.com/a."
# What to send for a field of another type, by Python name; the fields of others are named by their types.
SHAPES = {
    "requester": 'an id such as "org_acme", or an object such as {"id": "org_acme", "name": "Acme"}',
    "context": 'an object such as {"ip": "203.0.113.9"}',
    "policy": 'an object such as {"rules": [], "defaultAction": "deny"}',
    "source": "an http(s) URL such as https://example.com/a",
    "checks": 'an array such as [{"contentId": "cnt_…", "requester": "org_acme"}]',
    "BatchItem": 'an object such as {"contentId": "cnt_…", "requester": "org_acme"}',
}
IS_WRONG_TYPE = re.compile(r"Expected `[a-z |]+`, got `.*`").fullmatch
SPECIAL = (
    (re.compile(r"Expected `str` matching regex '\^\[a-z\].*"), PERMISSION_RULE),
    (re.compile(r"Expected `str` matching regex '\^\[Hh\].*"), URL_RULE),
    (re.compile(r"Invalid enum value .*", re.DOTALL), "Must be one of: allow, deny."),
)


def raise_fault(path: str, field: str, message: str, part: object) -> None:
    """Raise the first fault, so that parsing stops."""
    raise Fault(f"{path}{field}", message)


def body_error(
    fields: Mapping[str, object], body: type[B], stand_ins: Mapping[str, object], complete: Callable[[B, Tell], object]
) -> ValidationFailed:
    """Build the error for a rejected body, with all its faults.

    Faults of single fields come first, in msgspec's order, then those that `complete` reports across fields. For
    `complete`, invalid fields have the values in `stand_ins` (by Python name), or are absent.
    """
    walk = Walk(stand_ins)
    try:
        complete(walk.structure(fields, body, ""), walk.tell)
        faults = walk.faults.collected
    except Fault as first:  # the maximum number of faults was reached
        faults = first.all()
    return ValidationFailed.from_faults(faults)


class Walk:
    """Read a body field by field and collect faults."""

    def __init__(self, stand_ins: Mapping[str, object]) -> None:
        self.stand_ins, self.faults = stand_ins, Faults()
        self.told: set[tuple[int, str, str]] = set()
        self.unknown_fields = 0

    def tell(self, path: str, field: str, message: str, part: object) -> None:
        fault = (id(part), field, message)
        if fault not in self.told:  # report a fault of the batch's defaults once
            self.told.add(fault)
            kind = FaultKind.MISSING if message == REQUIRED else FaultKind.MALFORMED
            self.faults.add(Fault(f"{path}{field}", message, kind))

    def structure(self, value: Mapping[str, object], struct: type[B], path: str) -> B:
        """Build the structure from the valid fields."""
        fields = fields_of(struct)
        values: dict[str, object] = {}
        for name, member in value.items():
            where = f"{path}.{name}" if path else name
            if name not in fields:
                self.faults.add(self.unknown(where, name, fields))
            elif (parsed := self.value(member, fields[name].type, where, fields[name].name)) is not ABSENT:
                values[fields[name].name] = parsed
        for name, field in fields.items():
            if field.required and name not in value:
                self.faults.add(Fault(f"{path}.{name}" if path else name, REQUIRED, FaultKind.MISSING))
                values[field.name] = self.stand_ins[field.name]
        return struct(**values)

    def unknown(self, where: str, name: str, fields: Mapping[str, FieldInfo]) -> Fault:
        """Return the fault of an unknown field; the first few of a body get a hint."""
        self.unknown_fields += 1
        hint = ""
        if self.unknown_fields <= MAX_SUGGESTIONS:
            part = part_with(name, fields)
            hint = f" It belongs in `{part}`." if part else field_hints([name], fields)[name]
        return Fault(where, f"{NO_SUCH_FIELD}{hint}", FaultKind.UNKNOWN)

    def value(self, value: object, expected_type: object, path: str, name: str) -> object:
        """Convert a value to its type. If it is invalid, add a fault and return its stand-in."""
        try:
            return msgspec.convert(value, expected_type)
        except msgspec.ValidationError as error:
            text, within, _ = str(error).partition(" - at `$")
        types = list(types_of(expected_type))
        if isinstance(value, Mapping):
            for member_type in types:
                if isinstance(member_type, type) and issubclass(member_type, Struct):
                    return self.structure(value, member_type, path)
        if within and isinstance(value, list):  # the members are wrong, not the list itself
            [member] = [get_args(member_type)[0] for member_type in types if get_origin(member_type) is list]
            return [self.value(item, member, f"{path}[{index}]", member.__name__) for index, item in enumerate(value)]
        message = (
            f"Must be {SHAPES[name]}." if name in SHAPES and IS_WRONG_TYPE(text) else fault_message(text, SPECIAL)
        )
        self.faults.add(Fault(path, message))
        return self.stand_ins.get(name, ABSENT)


@cache
def fields_of(struct: type[Struct]) -> dict[str, FieldInfo]:
    """Return the fields of a structure by their JSON names."""
    return {field.encode_name: field for field in msgspec.structs.fields(struct)}


def part_with(name: str, fields: Mapping[str, FieldInfo]) -> str | None:
    """Return the field whose object has a field of this name, such as `requester` for `licenseType`."""
    for part, field in fields.items():
        for field_type in types_of(field.type):
            if isinstance(field_type, type) and issubclass(field_type, Struct) and name in fields_of(field_type):
                return part
    return None


def types_of(annotation: object) -> Iterator[object]:
    """Yield the members of a union, or the type itself."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from types_of(get_args(annotation)[0])
    elif origin in UNIONS:
        for member in get_args(annotation):
            yield from types_of(member)
    else:
        yield annotation
