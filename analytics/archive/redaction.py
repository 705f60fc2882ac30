"""Erasures in months that only the archive has."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import orjson

from analytics.archive.layout import COLUMNS

REQUESTER = list(COLUMNS).index("requester")
REQUESTER_ID = list(COLUMNS).index("requester_id")
FACTS = list(COLUMNS).index("facts")
RedactFacts = Callable[[dict[str, object]], dict[str, object]]
redact_facts: RedactFacts


def redact_facts_by(redact: RedactFacts) -> None:
    """Register what an erasure leaves of a decision's facts."""
    global redact_facts  # noqa: PLW0603 - the app above registers it once
    redact_facts = redact


def redact(chunks: Iterable[Sequence[Sequence[object]]], erased: Mapping[object, str]) -> Iterator[list[list[object]]]:
    """Yield chunks of rows without the data of erased requesters, whose pseudonyms are given by number."""
    for rows in chunks:
        yield [redact_row(row, erased[row[REQUESTER]]) if row[REQUESTER] in erased else list(row) for row in rows]


def redact_row(row: Sequence[object], pseudonym: str) -> list[object]:
    values = list(row)
    values[REQUESTER_ID] = pseudonym
    values[FACTS] = orjson.dumps(redact_facts(orjson.loads(str(row[FACTS])))).decode()
    return values
