"""Facts and notes in the bodies of checks, as listed in licensing.policies.facts."""

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Annotated, TypeVar, cast

from msgspec import Meta, Struct, defstruct

from kit.values.faults import Fault
from licensing.access.faults import Tell
from licensing.policies.facts import NOTHING, OF_CHECK, SENT, Fact, GivenFacts, Recorded, as_sent

B = TypeVar("B", bound=Struct)
# A fact in a part of a body: its getter, its index in Given.facts, and whether it is parsed.
Reader = tuple[Fact, Callable[[Struct], object], int | None, bool]


def readers(part: str) -> Iterator[Reader]:
    places = {fact.attribute: place for place, fact in enumerate(OF_CHECK)}
    for fact in SENT[part]:
        yield fact, attrgetter(fact.key), places.get(fact.attribute), fact.parse is not as_sent


SILENT_IF_EMPTY = (str, dict)
READERS = {part: tuple(readers(part)) for part in SENT}


def with_facts(base: type[B], part: str) -> type[B]:
    """Return the structure extended by a field for each fact that callers send in that part."""
    further = [
        (fact.key, Annotated[cast("type[object]", fact.type) | None, Meta(description=fact.description or None)], None)
        for fact in SENT[part]
    ]
    return cast("type[B]", defstruct(base.__name__, further, bases=(base,), kw_only=True))


def sent_facts(parts: Iterable[tuple[str, Struct | None]], path: str, tell: Tell) -> GivenFacts:
    """Return the facts in these parts of a body. Null, false, "" and {} count as absent."""
    facts: list[object] | None = None
    recorded: Recorded = {}
    for part, body in parts:
        if body is None:
            continue
        for fact, value_of, place, is_parsed in READERS[part]:
            value = value_of(body)
            if not value and (value is None or value is False or isinstance(value, SILENT_IF_EMPTY)):
                continue
            recorded[fact.name] = value
            if is_parsed:
                try:
                    value = fact.parse(value, fact.place)
                except Fault as first:
                    for fault in first.all():
                        tell(path, fault.path, fault.message, body)
                    continue
                recorded[fact.name] = fact.dump(value)
            if place is not None:
                facts = facts or list(NOTHING.facts)
                facts[place] = value
    return GivenFacts(NOTHING.facts if facts is None else tuple(facts), recorded) if recorded else NOTHING
