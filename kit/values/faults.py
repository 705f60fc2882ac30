"""What is wrong with a value from outside: every fault with its place, as many as a reply tells."""

import re
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self, TypeVar

T = TypeVar("T")
V = TypeVar("V")

MAX_FAULTS = 100  # in a reply; whoever looks for them stops there

# msgspec's words for what a caller most often gets wrong, in ours.
WORDED = (
    (re.compile(r"Expected `str` matching regex .*"), "Must not be blank."),
    (re.compile(r"Expected `str` of length <= (?P<most>\d+)"), "Must have at most {most} characters."),
    (re.compile(r"Expected `str` of length >= 1"), "Must not be blank."),
    (re.compile(r"Expected `str` of length >= (?P<least>\d+)"), "Must have at least {least} characters."),
    (re.compile(r"Expected `array` of length <= (?P<most>\d+)"), "Must have at most {most} items."),
    (re.compile(r"Expected `array` of length >= 1"), "Must not be empty."),
    (re.compile(r"Expected `(?P<wanted>[a-z |]+)`, got `.*`"), "Must be {wanted}."),
)
TYPES = {"str": "a string", "bool": "true or false", "object": "an object", "array": "an array", "null": "null"}


class Fault(ValueError):
    """What is wrong, and where: a path such as `rules[0].conditions.licenseType`; `further` are those found beside."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path, self.message = path, message
        self.further: list[Fault] = []

    def all(self) -> "list[Fault]":
        self.__traceback__ = None  # whose frames hold what is collected, and so this fault itself
        return [self, *self.further]


class Faults:
    """Collects the faults of parts that are read one by one:

        with faults:
            period = parse_period(…)
        with faults:
            …
        faults.raise_first()

    Reading ends with the last fault that a reply tells.
    """

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: TracebackType | None) -> bool:
        if not isinstance(error, Fault):
            return False
        self.add(error)
        return True

    def expect(self, ok: bool, path: str, message: str) -> None:
        if not ok:
            self.add(Fault(path, message))

    def add(self, fault: Fault) -> None:
        """Raises the first fault, with all others, once there are as many as are told."""
        self.found += fault.all()
        if len(self.found) >= MAX_FAULTS:
            self.raise_first()

    def raise_first(self) -> None:
        """Raises the first fault, with all others, if there is one."""
        if self.found:
            first, *rest = self.found[:MAX_FAULTS]
            first.further = rest
            raise first


def read_each(values: Iterable[V], path: str, read: Callable[[V, str], T]) -> list[T]:
    """Each of an array's values as `read` takes it, with its path. Raises Fault for all that are wrong."""
    faults, members = Faults(), []
    for index, value in enumerate(values):
        try:
            members.append(read(value, f"{path}[{index}]"))
        except Fault as fault:
            faults.add(fault)
    faults.raise_first()
    return members


def worded(text: str, special: Iterable[tuple[re.Pattern[str], str]] = ()) -> str:
    """Return the message for an error of msgspec's; `special` are patterns of such errors with their messages."""
    for pattern, message in (*special, *WORDED):
        if match := pattern.fullmatch(text):
            found = match.groupdict()
            if "wanted" in found:
                found["wanted"] = " or ".join(TYPES.get(name, name) for name in found["wanted"].split(" | "))
            return message.format(**found)
    return f"{text}."
