"""The order of evaluation of a policy's rules (licensing.policies.decision.precedence), as the editor shows them.

A rule without a priority gets one where its place requires it, and a rule whose priority says otherwise moves to its
place. Pure.
"""

from collections.abc import Sequence

from licensing.policies.in_words import Rule
from licensing.policies.rules import MAX_PRIORITY

STEP = 10  # between the priorities of neighbours, so that there is room for a rule between them


Row = dict[str, str]
Place = tuple[bool, int, bool, int]


def place(priority: int | None, action: str, index: int) -> Place:
    return priority is None, priority or 0, action != "deny", index


def evaluated(rules: Sequence[Rule]) -> list[tuple[int, Rule]]:
    """The rules in the order of evaluation, each with its index in the list."""
    return sorted(enumerate(rules), key=lambda one: place(one[1].get("priority"), one[1]["action"], one[0]))


def in_order(rows: list[Row]) -> list[Row]:
    """The rows in the order of evaluation; those without a priority follow the row before them.

    Priorities change only where the order requires it. Rows with an invalid priority stay as they are.
    """
    texts = [row["priority"].strip() for row in rows]
    if not all(text == "" or (text.isdecimal() and text.isascii() and len(text) < 8) for text in texts):
        return rows
    given = [int(text) if text else None for text in texts]
    order = by_place(rows, given, range(len(rows)))
    if order == list(range(len(rows))):
        return rows
    arranged = [index for index in order if given[index] is not None]
    for index, priority in enumerate(given):
        if priority is None:
            arranged.insert(arranged.index(index - 1) + 1 if index else 0, index)
    priorities = [given[index] for index in arranged]
    if by_place(rows, given, arranged) != arranged:
        priorities = filled(priorities)
    return [
        {**rows[index], "priority": "" if priority is None else str(priority)}
        for index, priority in zip(arranged, priorities, strict=True)
    ]


def by_place(rows: list[Row], priorities: list[int | None], indexes: Sequence[int]) -> list[int]:
    places = {index: place(priorities[index], rows[index]["action"], at) for at, index in enumerate(indexes)}
    return sorted(indexes, key=places.__getitem__)


def filled(priorities: list[int | None]) -> list[int | None]:
    """Ascending priorities with the missing ones filled in; all of them renumbered where there is no room."""
    result: list[int | None] = []
    low, waiting = 0, 0
    for priority in [*priorities, None]:
        if priority is None and len(result) + waiting < len(priorities):
            waiting += 1
            continue
        high = low + STEP * (waiting + 1) if priority is None else priority
        if waiting and high - low <= waiting:
            break
        result += [low + (high - low) * (one + 1) // (waiting + 1) for one in range(waiting)]
        if priority is not None:
            result.append(priority)
            low, waiting = priority, 0
    if len(result) == len(priorities) and max(one or 0 for one in result) <= MAX_PRIORITY:
        return result
    return [STEP * (number + 1) for number in range(len(priorities))]
