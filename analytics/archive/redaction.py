"""Erasures in months that only the archive has."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import orjson

from analytics.archive.layout import COLUMNS

REQUESTER, REQUESTER_ID, FACTS = (list(COLUMNS).index(name) for name in ("requester", "requester_id", "facts"))
kept_facts: set[str] = set()


def keep_facts(names: Iterable[str]) -> None:
    """Name the facts that an erasure leaves in a decision."""
    kept_facts.update(names)


def redact(chunks: Iterable[Sequence[Sequence[object]]], erased: Mapping[object, str]) -> Iterator[list[list[object]]]:
    """Yield chunks of rows without the data of erased requesters, whose pseudonyms are given by number."""
    for rows in chunks:
        yield [redacted(row, erased[row[REQUESTER]]) if row[REQUESTER] in erased else list(row) for row in rows]


def redacted(row: Sequence[object], pseudonym: str) -> list[object]:
    values = list(row)
    facts = orjson.loads(str(row[FACTS]))
    values[REQUESTER_ID] = pseudonym
    values[FACTS] = orjson.dumps({name: value for name, value in facts.items() if name in kept_facts}).decode()
    return values
