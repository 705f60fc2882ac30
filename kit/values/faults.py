"""Faults in input values, each with its path, up to the number that a reply reports."""

import re
from collections.abc import Callable, Collection, Iterable
from enum import StrEnum
from types import TracebackType
from typing import Self, TypeVar

from kit.values.suggestions import field_hints

T = TypeVar("T")
V = TypeVar("V")

MAX_FAULTS = 100  # per reply; validation stops there
REQUIRED = "This field is required."
NO_SUCH_FIELD = "There is no such field."

# Our messages for msgspec's most common errors.
ERROR_TEXTS = (
    (re.compile(r"Expected `str` matching regex .*"), "Must not be blank."),
    (re.compile(r"Expected `str` of length <= (?P<most>\d+)"), "Must have at most {most} characters."),
    (re.compile(r"Expected `str` of length >= 1"), "Must not be blank."),
    (re.compile(r"Expected `str` of length >= (?P<least>\d+)"), "Must have at least {least} characters."),
    (re.compile(r"Expected `array` of length <= (?P<most>\d+)"), "Must have at most {most} items."),
    (re.compile(r"Expected `array` of length >= 1"), "Must not be empty."),
    (re.compile(r"Expected `(?P<wanted>[a-z |]+)`, got `.*`"), "Must be {wanted}."),
)
TYPES = {"str": "a string", "bool": "true or false", "object": "an object", "array": "an array", "null": "null"}


class FaultKind(StrEnum):
    """How a field, parameter or header is at fault."""

    MISSING = "missing"  # it is required
    UNKNOWN = "unknown"  # there is no field or parameter of that name
    MALFORMED = "malformed"  # its value is not accepted


class Fault(ValueError):
    """An invalid value with its path, such as `rules[0].conditions.licenseType`; `further` holds other faults."""

    def __init__(self, path: str, message: str, kind: FaultKind = FaultKind.MALFORMED) -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.kind = kind
        self.further: list[Fault] = []

    def all(self) -> "list[Fault]":
        self.__traceback__ = None  # its frames refer to the collected faults, including this one
        return [self, *self.further]


class Faults:
    """Collects faults while parts are read one by one:

        with faults:
            period = parse_period(…)
        with faults:
            …
        faults.raise_first()

    Stops by raising after MAX_FAULTS.
    """

    def __init__(self) -> None:
        self.collected: list[Fault] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: TracebackType | None) -> bool:
        if not isinstance(error, Fault):
            return False
        self.add(error)
        return True

    def expect(self, ok: bool, path: str, message: str, kind: FaultKind = FaultKind.MALFORMED) -> None:
        if not ok:
            self.add(Fault(path, message, kind))

    def expect_known(self, names: Iterable[str], known_names: Collection[str], path: str = "") -> None:
        """Record the given fields that are not known, the first ones with a hint."""
        unknown = [name for name in names if name not in known_names]
        if not unknown:
            return
        for name, hint in field_hints(unknown, known_names).items():
            self.add(Fault(f"{path}.{name}" if path else name, f"{NO_SUCH_FIELD}{hint}", FaultKind.UNKNOWN))

    def add(self, fault: Fault) -> None:
        """Record a fault. Raises the first one, with all others, once there are MAX_FAULTS."""
        self.collected += fault.all()
        if len(self.collected) >= MAX_FAULTS:
            self.raise_first()

    def raise_first(self) -> None:
        """Raise the first fault, with all others, if there is one."""
        if self.collected:
            first, *rest = self.collected[:MAX_FAULTS]
            first.further = rest
            raise first


def read_each(values: Iterable[V], path: str, read: Callable[[V, str], T]) -> list[T]:
    """Read each value of an array with its path. Raises Fault for all invalid ones."""
    faults = Faults()
    members = []
    for index, value in enumerate(values):
        try:
            members.append(read(value, f"{path}[{index}]"))
        except Fault as fault:
            faults.add(fault)
    faults.raise_first()
    return members


def fault_message(text: str, special: Iterable[tuple[re.Pattern[str], str]] = ()) -> str:
    """Return our message for an msgspec error; `special` adds patterns with their messages."""
    for pattern, message in (*special, *ERROR_TEXTS):
        if match := pattern.fullmatch(text):
            values = match.groupdict()
            if "wanted" in values:
                values["wanted"] = " or ".join(TYPES.get(name, name) for name in values["wanted"].split(" | "))
            return message.format(**values)
    return f"{text}."
