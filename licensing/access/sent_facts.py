"""Facts and notes in the bodies of checks, as listed in licensing.policies.facts."""

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Annotated, TypeVar, cast

from msgspec import Meta, Struct, defstruct

from kit.values.faults import Fault
from licensing.access.faults import Tell
from licensing.policies.facts import NOTHING, OF_CHECK, SENT, Fact, GivenFacts, Recorded, as_sent

B = TypeVar("B", bound=Struct)
# A fact in a part of a body: its name, its index in GivenFacts.facts, and the fact if its values are parsed.
Reader = tuple[str, int | None, Fact | None]


def readers(part: str) -> Iterator[Reader]:
    places = {fact.attribute: place for place, fact in enumerate(OF_CHECK)}
    for fact in SENT[part]:
        yield fact.name, places.get(fact.attribute), None if fact.parse is as_sent else fact


def values_getter(part: str) -> Callable[[Struct], tuple[object, ...]]:
    """Return a function that reads the values of all facts in that part of a body at once."""
    return attrgetter(*(fact.key for fact in SENT[part]))


SILENT_IF_EMPTY = (str, dict)
READERS = {part: (values_getter(part), tuple(readers(part)), (None,) * len(SENT[part])) for part in SENT}


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
        values_of, facts_of_part, absent = READERS[part]
        values = values_of(body)
        if values == absent:  # most callers send an id alone
            continue
        for value, (name, place, fact) in zip(values, facts_of_part, strict=True):
            if value is None or value is False or (not value and isinstance(value, SILENT_IF_EMPTY)):
                continue
            known = recorded[name] = value
            if fact is not None:
                try:
                    known = fact.parse(value, fact.place)
                except Fault as first:
                    for fault in first.all():
                        tell(path, fault.path, fault.message, body)
                    continue
                recorded[name] = fact.dump(known)
            if place is not None:
                facts = facts or list(NOTHING.facts)
                facts[place] = known
    return GivenFacts(NOTHING.facts if facts is None else tuple(facts), recorded) if recorded else NOTHING
